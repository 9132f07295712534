"""Replicas of a model that serve apart from each other are ranks of their own, with coordinates, whatever their processes know of each other."""

from __future__ import annotations

import ast
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tensortap._health.topology import place
from tensortap.integrations import sglang, vllm
from tensortap.integrations.served import Rank
from tests.test_contracts import class_of, fields, source

PARALLEL = "vllm/config/parallel.py"


def told_to_be_alone(parallel: Any) -> None:
    """What vLLM does to the configuration of a replica of a dense model, by its own code."""
    body = class_of(source("vllm", PARALLEL), "ParallelConfig").body
    method = next(node for node in body if isinstance(node, ast.FunctionDef) and node.name == "reconfigure_for_independent_dp_rank")
    names: dict[str, Any] = {}
    exec(compile(ast.Module([method], []), PARALLEL, "exec"), names)  # noqa: S102
    names[method.name](parallel)


def ranks(dense: bool, replicas: int, each: int, **fields_of: Any) -> list[Rank]:
    found = []
    for index in range(replicas):
        parallel = SimpleNamespace(
            data_parallel_rank=0 if dense else index, data_parallel_index=index, data_parallel_size=replicas, world_size=each,
            enable_elastic_ep=False, elastic_ep_max_dp_size=replicas, nnodes_within_dp=1, node_rank_within_dp=0,
        )  # fmt: skip
        if dense:
            told_to_be_alone(parallel)
            assert (parallel.data_parallel_rank, parallel.data_parallel_size) == (0, 1)
        vars(parallel).update(fields_of)
        found += [vllm._rank(SimpleNamespace(rank=rank, vllm_config=SimpleNamespace(parallel_config=parallel))) for rank in range(each)]
    return found


def test_each_worker_of_vllm_is_a_rank_of_its_own() -> None:
    assert {"data_parallel_index", "elastic_ep_max_dp_size", "enable_elastic_ep"} <= fields(source("vllm", PARALLEL), "ParallelConfig")
    assert "parallel_config.data_parallel_index = dp_rank" in source("vllm", "vllm/v1/engine/core.py")
    for dense in (True, False):
        assert ranks(dense, 1, 2) == [Rank(0, 2, (0, 1)), Rank(1, 2, (0, 1))]
        assert ranks(dense, 2, 1) == [Rank(0, 2, (0, 2)), Rank(1, 2, (1, 2))]
        assert ranks(dense, 2, 2) == [Rank(0, 4, (0, 2)), Rank(1, 4, (0, 2)), Rank(2, 4, (1, 2)), Rank(3, 4, (1, 2))]
    assert ranks(False, 2, 1, enable_elastic_ep=True, elastic_ep_max_dp_size=8) == [Rank(0, 2, (0, 2)), Rank(1, 2, (1, 2))]
    assert ranks(True, 2, 1, elastic_ep_max_dp_size=None)[1] == Rank(1, None, (1, -1)), "of how many is not known in every release"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"dp_rank": None, "dp_size": 1}, Rank(0, 1)),
        ({"dp_rank": 0, "dp_size": 2}, Rank(0, 2, (0, 2))),
        ({"dp_rank": 1, "dp_size": 2}, Rank(1, 2, (1, 2))),
        ({"dp_rank": 1, "dp_size": 2, "attn_dp_size": 2}, Rank(0, 1)),  # of attention alone, in one world
        ({"dp_rank": None, "dp_size": 1, "attn_dp_size": 2}, Rank(0, 1)),
    ],
)
def test_each_scheduler_of_sglang_is_a_rank_of_its_own(said: dict[str, Any], expected: Rank, monkeypatch: pytest.MonkeyPatch) -> None:
    known = SimpleNamespace(**{"attn_dp_size": 1} | said)
    monkeypatch.setitem(sys.modules, "sglang.srt.runtime_context", SimpleNamespace(get_parallel=lambda: known))  # type: ignore[arg-type]
    assert sglang._rank() == expected


def test_replicas_of_attention_are_the_axis_dp(monkeypatch: pytest.MonkeyPatch) -> None:
    known = SimpleNamespace(dp_rank=None, dp_size=1, attn_dp_rank=1, attn_dp_size=2, tp_rank=1, tp_size=2, moe_ep_rank=1, moe_ep_size=2)
    monkeypatch.setitem(sys.modules, "sglang.srt.runtime_context", SimpleNamespace(get_parallel=lambda: known))  # type: ignore[arg-type]
    assert place(environment={}, rank=1).coordinates == {"dp": (1, 2), "tp": (1, 2), "ep": (1, 2)}


def test_a_replica_that_is_given_counts() -> None:
    found = place(environment={"RANK": "0", "WORLD_SIZE": "1"}, rank=3, world_size=4, replica=(1, 2))
    assert (found.rank, found.world_size, found.coordinates) == (3, 4, {"dp": (1, 2)})
    found = place(environment={"RANK": "0", "WORLD_SIZE": "1"}, rank=1, replica=(1, -1))
    assert (found.rank, found.world_size, found.columns()["dp"], found.columns()["dp_size"]) == (1, None, 1, -1)
