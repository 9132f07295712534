"""SGLang: each forward of a ModelRunner is a step."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final
from weakref import WeakSet

import torch.distributed as dist

from tensortap._record.served_requests import Prompt, Request, prompt_of
from tensortap._session.step_boundaries import Facts
from tensortap.integrations import engine_arguments, kv_caches, sglang_server
from tensortap.integrations.served import HEALTH_CHECK as A_HEALTH_CHECK
from tensortap.integrations.served import IDLE, WARM_UP_REQUEST, Rank, Served, Step, around, reader, steps, tap_of

HEALTH_CHECK: Final = "HEALTH_CHECK"
OF_NO_CLIENT: Final = ((HEALTH_CHECK, A_HEALTH_CHECK), (sglang_server.WARM_UP, WARM_UP_REQUEST))  # by how names begin
PHASES: Final = {"EXTEND": "prefill", "DECODE": "decode", "MIXED": "mixed"}
_PROMPTS: Final = "_tensortap_prompts"
_PROMPT: Final = "_tensortap_prompt"
_taps: Final[WeakSet[Served]] = WeakSet()  # of this process, which a runner that drafts does not know


class _Step(Step):
    """A forward of a runner."""

    def replayed(self, result: Any) -> bool:
        """The runner says whether it could run a graph, and then it did."""
        return bool(getattr(result, "can_run_graph", False))


def attach(module: ModuleType) -> None:
    """Called once sglang.srt.model_executor.model_runner was imported."""
    _keep_prompts(module.ForwardBatch)
    around(module.ModelRunner, "load_model", after=_tap)
    if hasattr(module.ModelRunner, "init_cuda_graphs"):
        around(module.ModelRunner, "init_cuda_graphs", after=_prepare)
    steps(module.ModelRunner, "forward", _begin)


def _tap(runner: Any) -> Served | None:
    if runner.is_draft_worker:
        return None
    served = tap_of(runner, lambda: runner.model, _rank, lambda: engine_arguments.of("sglang", getattr(runner, "server_args", None)))
    _taps.add(served)
    return served


def _prepare(runner: Any) -> None:
    if served := _tap(runner):
        served.prepare()


def _begin(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Served, Step] | None:
    batch = args[0] if args else kwargs["forward_batch"]
    served = _tap(runner)
    if served is None:
        for target in list(_taps):
            target.beside(runner.model)
        return None
    mode: str = batch.forward_mode.name
    if not_served := IDLE if mode == "IDLE" else _of_no_client(batch):
        served.not_served(not_served)
        return None
    phase = PHASES.get(mode, mode.lower())
    requests = tuple(_requests(batch, phase))
    kv = kv_caches.reader(runner, kv_caches.of_sglang)
    return served, _Step(Facts(phase=phase, tokens=len(batch.input_ids), requests=int(batch.batch_size), served=requests, read_kv=kv))


def _requests(batch: Any, phase: str) -> Iterator[Request]:
    """The requests of a batch, in the order of its rows."""
    names = [str(name) for name in batch.rids or ()]
    prompts: list[Prompt | None] = getattr(batch, _PROMPTS, [None] * len(names))
    counts, firsts = _places(batch, len(names))
    for name, tokens, first, prompt in zip(names, counts, firsts, prompts, strict=True):
        is_decoding = phase == "mixed" and prompt is not None and first is not None and first >= prompt.tokens
        yield Request(name, "decode" if is_decoding else "prefill" if phase == "mixed" else phase, tokens, first, prompt)


def _places(batch: Any, requests: int) -> tuple[list[int], list[int | None]]:
    """How many tokens each request has in the batch, and the position of the first of them."""
    if batch.extend_seq_lens_cpu is not None:
        firsts = batch.extend_prefix_lens_cpu
        return [int(n) for n in batch.extend_seq_lens_cpu], [None] * requests if firsts is None else [int(n) for n in firsts]
    each = len(batch.input_ids) // max(requests, 1)
    lengths: Any = batch.seq_lens_cpu
    if each != 1 or lengths is None or lengths.device.type != "cpu":
        return [each] * requests, [None] * requests
    return [each] * requests, [int(n) - 1 for n in lengths.tolist()]


def _keep_prompts(batch_type: Any) -> None:
    """Let batches know the prompts of their requests, which what they are made from has, and they have not."""
    original = batch_type.__dict__["init_new"].__func__
    if hasattr(original, _PROMPTS):
        return

    @functools.wraps(original)
    def init_new(cls: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(cls, batch, *args, **kwargs)
        try:
            setattr(made, _PROMPTS, [_prompt(request) for request in batch.reqs])
        except (AttributeError, TypeError, OverflowError):  # of another version: then prompts are not known
            made.__dict__.pop(_PROMPTS, None)
        return made

    setattr(init_new, _PROMPTS, True)
    batch_type.init_new = classmethod(init_new)


def _prompt(request: Any) -> Prompt:
    known: Prompt | None = getattr(request, _PROMPT, None)
    if known is None:
        tokenizer = request.tokenizer
        known = prompt_of(request.origin_input_ids, reader(lambda: tokenizer, request.origin_input_ids_unpadded))
        setattr(request, _PROMPT, known)
    return known


def _of_no_client(batch: Any) -> str:
    """What a batch is for that serves the server's own requests alone; empty for any other."""
    names = [str(name) for name in batch.rids or ()]
    return next((what for begin, what in OF_NO_CLIENT if names and all(name.startswith(begin) for name in names)), "")


def _rank() -> Rank:
    """The rank among all of the server: replicas that serve apart from each other have worlds of their own."""
    parallel: Any = sys.modules["sglang.srt.runtime_context"].get_parallel()
    rank, size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    if parallel.dp_size == 1 or parallel.attn_dp_size > 1:
        return Rank(rank, size)
    replica = int(parallel.dp_rank or 0)
    return Rank(replica * size + rank, int(parallel.dp_size) * size, (replica, int(parallel.dp_size)))
