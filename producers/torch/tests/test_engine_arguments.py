"""What is told of the arguments of engines: what bears on numbers, no secret, and nothing of one process."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reading
import torch
from torch import nn

from tensortap._session.step_boundaries import Facts
from tensortap.integrations import engine_arguments
from tensortap.integrations.served import Rank, Step, close, tap_of


class Mode(enum.Enum):
    EAGER = 0


@dataclass
class Cache:
    block_size: int = 16
    cache_dtype: str = "auto"
    num_key_value_heads: int = 8


@dataclass
class Config:
    cache_config: Cache = field(default_factory=Cache)
    dtype: torch.dtype = torch.bfloat16
    mode: Mode = Mode.EAGER
    quantization: str | None = None
    tokenizer: str = "tiny"
    sizes: list[int] = field(default_factory=lambda: [1, 2])
    ops: set[str] = field(default_factory=lambda: {"b", "a"})
    overrides: dict[str, Any] = field(default_factory=lambda: {"rope": {"theta": 1.5}, 3: 4})
    max_lora_rank: int = 16
    enforce_eager: bool = False
    model: object = field(default_factory=object)
    # Not to be told:
    api_key: str = "hunter2"
    hf_token: str = "hunter2"
    loader: str = '{"secret_key": "hunter2"}'
    auth: dict[str, str] = field(default_factory=lambda: {"user": "hunter2"})
    extra: dict[str, str] = field(default_factory=lambda: {"password": "hunter2"})
    url: str = "http://me:hunter2@there/x"
    rank: int = 3
    nccl_port: int = 29500
    dist_init_addr: str = "10.0.0.7:5000"
    compilation_time: float = 3.5
    instance_id: str = "179"
    pid: int = 4711
    shm_name: str = "psm_0a1b2c3d"
    dist_ident: str = "179_29501"


def test_arguments_are_told_by_name_without_secrets() -> None:
    said = engine_arguments.of("vllm", Config())
    assert said == {
        "vllm cache_config.block_size": 16,
        "vllm cache_config.cache_dtype": "auto",
        "vllm cache_config.num_key_value_heads": 8,
        "vllm dtype": "torch.bfloat16",
        "vllm mode": "EAGER",
        "vllm tokenizer": "tiny",
        "vllm sizes": [1, 2],
        "vllm ops": ["a", "b"],
        "vllm overrides.rope.theta": 1.5,
        "vllm max_lora_rank": 16,
        "vllm enforce_eager": False,
        "vllm loader": "…",
        "vllm url": "http://there/x",
    }


class Struct:
    """As a struct of msgspec, which SGLang's arguments are."""

    __struct_fields__ = ("tp_size", "random_seed", "admin_api_key")

    def __init__(self) -> None:
        self.tp_size, self.random_seed, self.admin_api_key = 2, 7, "hunter2"


def test_structs_are_read_as_dataclasses_are() -> None:
    assert engine_arguments.of("sglang", Struct()) == {"sglang tp_size": 2, "sglang random_seed": 7}


def test_there_is_a_limit_and_what_is_no_such_object_has_none() -> None:
    assert len(engine_arguments.of("vllm", {f"a{n}": n for n in range(5000)})) == 1000
    assert engine_arguments.of("vllm", None) == {} and engine_arguments.of("vllm", 3) == {}


def test_an_object_that_holds_itself_ends() -> None:
    config: dict[str, Any] = {"size": 1}
    config["again"] = config
    assert len(engine_arguments.of("vllm", config)) == 5


def test_they_are_in_the_configuration_of_the_run(asked: Path) -> None:
    class Runner:
        model = nn.Sequential(nn.Linear(2, 2))

    runner = Runner()
    served = tap_of(runner, lambda: runner.model, lambda: Rank(0), lambda: {"vllm seed": 3})
    served.begin(Step(Facts(phase="decode")))
    runner.model(torch.ones(1, 2))
    served.end()
    close(runner)
    assert json.loads(reading.only(asked).definitions[0]["config"])["vllm seed"] == 3
