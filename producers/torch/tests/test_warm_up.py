"""Requests by which a server warms itself up are told apart from the first ones of clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import asking
import pytest
import torch
from torch import nn

from tensortap._spool import layout
from tensortap.integrations import generic, sglang, sglang_server, vllm
from tensortap.integrations.served import Rank
from tests.reading import only


class Manager:
    """As TokenizerManager is: what it is asked for it answers with the name."""

    server_status = SimpleNamespace(value="Starting")

    async def generate_request(self, obj: Any, request: object = None) -> AsyncIterator[str]:
        yield obj.rid


def server() -> Any:
    """The names of SGLang's module that count, with functions that ask the manager as its own do."""

    async def asked(rid: str | None) -> list[str]:
        return [name async for name in module.TokenizerManager().generate_request(SimpleNamespace(rid=rid))]

    async def execute_warmups(rid: str | None) -> list[str]:
        return await asked(rid)

    def warm_up(rid: str | None) -> list[str]:
        return asyncio.run(asked(rid))

    module = SimpleNamespace(TokenizerManager=type("TokenizerManager", (Manager,), {}), execute_warmups=execute_warmups, _wait_and_warmup=warm_up)
    module.asked = asked
    return module


def test_sglangs_own_requests_are_named_and_no_others() -> None:
    module = server()
    sglang_server.attach(module)
    sglang_server.attach(module)  # a plug-in may come after the finder
    (own,) = module._wait_and_warmup(None)
    assert own.startswith(sglang_server.WARM_UP) and own.count("tensortap") == 1
    (own,) = asyncio.run(module.execute_warmups(None))
    assert own.startswith(sglang_server.WARM_UP)
    assert module._wait_and_warmup("theirs") == ["theirs"]
    assert asyncio.run(module.asked(None)) == [None]
    module.TokenizerManager.server_status = SimpleNamespace(value="Up")
    assert module._wait_and_warmup(None) == [None]


def batch(*names: str) -> Any:
    return SimpleNamespace(
        forward_mode=SimpleNamespace(name="EXTEND"), rids=list(names), input_ids=[1] * len(names), batch_size=len(names),
        extend_seq_lens_cpu=[1] * len(names), extend_prefix_lens_cpu=None,
    )  # fmt: skip


@torch.no_grad()
def test_a_batch_of_sglangs_warm_up_is_no_step_and_is_counted(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tapped(monkeypatch)
    runner = SimpleNamespace(is_draft_worker=False, model=model)
    monkeypatch.setattr(sglang, "_rank", lambda: Rank(0))
    own = [sglang_server.WARM_UP + "0", sglang_server.WARM_UP + "1"]
    assert sglang._begin(runner, (batch(*own),), {}) is None
    begun = sglang._begin(runner, (batch(own[0], "a client's"),), {})
    assert begun is not None
    tap, facts = begun
    tap.begin(facts)
    model(torch.ones(2, 4))
    tap.end()
    tap.close()
    (step,) = only(asked).steps
    assert step.unseen == {("serves no request", "warm-up request"): 1}
    assert requests(asked) == [own[0], "a client's"]


@pytest.mark.parametrize("other", [False, True])
@torch.no_grad()
def test_what_a_worker_of_vllm_computes_until_it_is_warm_is_no_step_and_then_it_can_be_asked(other: bool, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tapped(monkeypatch)

    class Worker:
        model_runner = SimpleNamespace()
        vllm_config = SimpleNamespace(parallel_config=SimpleNamespace(data_parallel_rank=0, data_parallel_size=1, world_size=1), model_config=None)
        rank = 0

        def load_model(self) -> None:
            """Nothing is loaded."""

        def shutdown(self) -> None:
            """Nothing is left."""

        def get_model(self) -> nn.Module:
            return model

        def execute_model(self, scheduled: Any) -> torch.Tensor:
            return cast(torch.Tensor, model(torch.ones(1, 4)))

        def compile_or_warm_up_model(self) -> None:
            self.execute_model(scheduled("_warmup_0"))

    class WorkerOfAnotherDevice(Worker):
        def compile_or_warm_up_model(self) -> None:
            self.execute_model(scheduled("_warmup_1"))

    vllm.attach(SimpleNamespace(Worker=Worker))  # type: ignore[arg-type]
    monkeypatch.setattr(vllm._Step, "hidden", lambda self, model: ())
    worker = WorkerOfAnotherDevice() if other else Worker()
    worker.load_model()
    worker.compile_or_warm_up_model()
    (spool,) = (folder for folder in asked.iterdir() if (folder / "header").exists())
    asking.ask(spool, 7, do="capture", level="mix", steps=1, scope=[], requests=[])
    deadline = time.monotonic() + 60
    while asking.answer(spool)[:2] != (7, layout.AWAITING):
        assert time.monotonic() < deadline, "a request before the first step is not answered"
        time.sleep(0.02)
    worker.execute_model(scheduled("cmpl-1"))
    assert asking.answer(spool)[:2] == (7, layout.RECORDING)
    worker.shutdown()
    (step,) = only(asked).steps
    assert any(name.startswith("Functional.") for name in step.begun)
    assert step.unseen[("serves no request", "warm-up request")] == 1
    assert requests(asked) == ["cmpl-1"]


def scheduled(name: str) -> Any:
    return SimpleNamespace(
        total_num_scheduled_tokens=1, finished_req_ids=set(), num_scheduled_tokens={name: 1},
        scheduled_cached_reqs=SimpleNamespace(req_ids=[], num_computed_tokens=[]),
        scheduled_new_reqs=[SimpleNamespace(req_id=name, prompt_token_ids=[1], num_computed_tokens=0)],
    )  # fmt: skip


def tapped(monkeypatch: pytest.MonkeyPatch) -> nn.Module:
    monkeypatch.setattr(generic, "stop", lambda: None)
    return nn.Sequential(nn.Linear(4, 4)).eval()


def requests(folder: Path) -> list[str]:
    """The names of what is served in all steps."""
    spooled = only(folder)
    return [spooled.named("text", row[0])["text"] for kind, row in spooled.rows if kind == "request"]
