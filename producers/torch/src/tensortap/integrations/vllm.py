"""vLLM: each execute_model of a Worker that computes tokens is a step, whichever runner the worker has."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from torch import nn

from tensortap._record import unseen
from tensortap._record.served_requests import Prompt, Request, prompt_of
from tensortap._session.step_boundaries import Facts
from tensortap.integrations import engine_arguments, kv_caches
from tensortap.integrations.served import WARM_UP_REQUEST, Rank, Served, Step, around, close, reader, steps, tap_of

_PROMPTS: Final = "_tensortap_prompts"
_WARMS_UP: Final = "_tensortap_warms_up"
_CONTEXT: Final = "vllm.forward_context"
_TOKENIZERS: Final = "vllm.tokenizers"
_COMPILED: Final[WeakKeyDictionary[nn.Module, list[str]]] = WeakKeyDictionary()  # to walk over a model takes as long as some of its steps


@dataclass(frozen=True)
class _Step(Step):
    """An execute_model of a worker."""

    runner: Any

    def order(self) -> Sequence[str] | None:
        """The batch's own order, which is not the scheduler's. The second runner keeps it to itself."""
        batch = getattr(self.runner, "input_batch", None)
        names = getattr(batch, "req_ids", None)
        return None if names is None else [str(name) for name in names]

    def hidden(self, model: nn.Module) -> Iterable[tuple[str, str]]:
        """What vLLM compiles of a model runs as compiled code, or as graphs of it where the step's context says so."""
        vllm: Any = sys.modules[_CONTEXT]
        context = vllm.get_forward_context()
        reason = unseen.COMPILED if context.cudagraph_runtime_mode.name == "NONE" else unseen.CUDA_GRAPH
        if context.skip_compiled:
            return
        for path in _compiled(model):
            yield reason, path


def _compiled(model: nn.Module) -> list[str]:
    """The modules that vLLM compiles, which it decides as it makes them."""
    known = _COMPILED.get(model)
    if known is None:
        known = [path for path, module in model.named_modules() if getattr(module, "do_not_compile", True) is False]
        _COMPILED[model] = known
    return known


def attach(module: ModuleType) -> None:
    """Called once vllm.v1.worker.gpu_worker was imported."""
    around(module.Worker, "load_model", after=_loaded)
    around(module.Worker, "shutdown", before=close)
    steps(module.Worker, "execute_model", _begin)


def _tap(worker: Any) -> Served:
    return tap_of(worker, worker.get_model, lambda: _rank(worker), lambda: engine_arguments.of("vllm", worker.vllm_config))


def _loaded(worker: Any) -> None:
    """Workers of other devices have a warm-up of their own."""
    _tap(worker)
    around(type(worker), "compile_or_warm_up_model", before=_warms_up, after=_is_warm)


def _warms_up(worker: Any) -> None:
    """Until it is warm a worker is given requests of its own."""
    setattr(worker, _WARMS_UP, True)


def _is_warm(worker: Any) -> None:
    worker.__dict__.pop(_WARMS_UP, None)
    _tap(worker).prepare()


def _begin(worker: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Served, Step] | None:
    scheduled = args[0] if args else kwargs["scheduler_output"]
    requests = tuple(_requests(worker, scheduled))
    tokens = int(scheduled.total_num_scheduled_tokens)
    if not tokens:
        return None
    phases = {request.phase for request in requests}
    phase = phases.pop() if len(phases) == 1 else "mixed"
    served = _tap(worker)
    if getattr(worker, _WARMS_UP, False):
        served.not_served(WARM_UP_REQUEST)
        return None
    if drafts := _drafting(worker.model_runner):
        served.beside(drafts)
    kv = kv_caches.reader(worker.model_runner, kv_caches.of_vllm)
    return served, _Step(Facts(phase=phase, tokens=tokens, requests=len(requests), served=requests, read_kv=kv), worker.model_runner)


def _requests(worker: Any, scheduled: Any) -> Iterator[Request]:
    """The requests of a step. One decodes once its prompt is computed, of which only its first step tells."""
    prompts: dict[str, Prompt | None] = worker.__dict__.setdefault(_PROMPTS, {})
    for request in scheduled.finished_req_ids:
        prompts.pop(request, None)
    cached = scheduled.scheduled_cached_reqs
    computed = dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
    for new in scheduled.scheduled_new_reqs:
        prompts[new.req_id] = _prompt(worker, new.prompt_token_ids)
        computed[new.req_id] = new.num_computed_tokens
    for name, tokens in scheduled.num_scheduled_tokens.items():
        first, prompt = computed.get(name), prompts.get(name)
        is_prefill = prompt is not None and (first or 0) < prompt.tokens
        yield Request(str(name), "prefill" if is_prefill else "decode", int(tokens), first, prompt)


def _drafting(runner: Any) -> nn.Module | None:
    """The model that drafts for the runner's, which the two kinds of runners call otherwise."""
    drafter = getattr(runner, "drafter", None) or getattr(runner, "speculator", None)
    model = getattr(drafter, "model", None)
    return model if isinstance(model, nn.Module) else None


def _rank(worker: Any) -> Rank:
    """The rank among all of the server, where replicas count from 0 each.

    Those of a dense model are told that they are alone, and only the index is left. How many there are is left in the limit
    for a server that takes in more of them later, which is their number where it does not.
    """
    parallel = worker.vllm_config.parallel_config
    index = int(getattr(parallel, "data_parallel_index", parallel.data_parallel_rank))
    elastic = getattr(parallel, "enable_elastic_ep", False)
    most = None if elastic else getattr(parallel, "elastic_ep_max_dp_size", None)
    count = int(most or (1 if index == 0 else -1)) if parallel.data_parallel_size == 1 else int(parallel.data_parallel_size)
    ranks = int(parallel.world_size)
    return Rank(index * ranks + int(worker.rank), count * ranks if count > 0 else None, (index, count))


def _prompt(worker: Any, tokens: Sequence[int] | None) -> Prompt | None:
    return prompt_of(tokens, reader(lambda: _tokenizer(worker), tokens)) if tokens else None


def _tokenizer(worker: Any) -> Any:
    """A worker has none, but vLLM loads one for its process, once, as the server is told to."""
    return importlib.import_module(_TOKENIZERS).cached_tokenizer_from_config(worker.vllm_config.model_config)
