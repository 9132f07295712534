"""vLLM: each execute_model of a Worker that computes tokens is a step, whichever runner the worker has."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from tensortap.attach.served import Served, steps, tap_of
from tensortap.steps import Facts

_PROMPTS: Final = "_tensortap_prompts"


def attach(module: ModuleType) -> None:
    """Called once vllm.v1.worker.gpu_worker was imported."""
    steps(module.Worker, "execute_model", _begin)


def _begin(worker: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Served | None:
    scheduled = args[0] if args else kwargs["scheduler_output"]
    phases = set(_phases(worker, scheduled))
    if not scheduled.total_num_scheduled_tokens:
        return None
    served = tap_of(worker, worker.get_model, lambda: _rank(worker))
    phase = phases.pop() if len(phases) == 1 else "mixed"
    served.begin(Facts(phase=phase, tokens=int(scheduled.total_num_scheduled_tokens), requests=len(scheduled.num_scheduled_tokens)))
    return served


def _phases(worker: Any, scheduled: Any) -> Iterator[str]:
    """The phase of each request: it decodes once its prompt is computed, whose length only its first step tells."""
    prompts: dict[str, int] = worker.__dict__.setdefault(_PROMPTS, {})
    for request in scheduled.finished_req_ids:
        prompts.pop(request, None)
    computed = dict(zip(scheduled.scheduled_cached_reqs.req_ids, scheduled.scheduled_cached_reqs.num_computed_tokens, strict=True))
    for new in scheduled.scheduled_new_reqs:
        prompts[new.req_id] = len(new.prompt_token_ids or ())
        computed[new.req_id] = new.num_computed_tokens
    for request in scheduled.num_scheduled_tokens:
        yield "prefill" if computed.get(request, 0) < prompts.get(request, 0) else "decode"


def _rank(worker: Any) -> int:
    """The rank among all of the job: replicas count from 0 each."""
    parallel = worker.vllm_config.parallel_config
    return int(parallel.data_parallel_rank * parallel.world_size + worker.rank)
