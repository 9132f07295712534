"""SGLang: each forward of a ModelRunner is a step."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

import torch.distributed as dist

from tensortap.attach.served import Served, steps, tap_of
from tensortap.steps import Facts

HEALTH_CHECK: Final = "HEALTH_CHECK"
PHASES: Final = {"EXTEND": "prefill", "DECODE": "decode", "MIXED": "mixed"}


def attach(module: ModuleType) -> None:
    """Called once sglang.srt.model_executor.model_runner was imported."""
    steps(module.ModelRunner, "forward", _begin)


def _begin(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Served | None:
    batch = args[0] if args else kwargs["forward_batch"]
    if runner.is_draft_worker or batch.forward_mode.name == "IDLE" or _is_health_check(batch):
        return None
    served = tap_of(runner, lambda: runner.model, _rank)
    mode: str = batch.forward_mode.name
    served.begin(Facts(phase=PHASES.get(mode, mode.lower()), tokens=len(batch.input_ids), requests=int(batch.batch_size)))
    return served


def _is_health_check(batch: Any) -> bool:
    requests = batch.rids or ()
    return bool(requests) and all(str(name).startswith(HEALTH_CHECK) for name in requests)


def _rank() -> int:
    """The rank among all of the job: replicas that serve apart from each other have worlds of their own."""
    parallel: Any = sys.modules["sglang.srt.runtime_context"].get_parallel()
    rank, size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    apart = parallel.dp_size > 1 and parallel.attn_dp_size == 1
    return int(rank + (parallel.dp_rank or 0) * size) if apart else rank
