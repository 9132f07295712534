"""CUDA graphs: what is captured into one, and replays, in which no hook runs: counted, so that they are not passed over in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from tensortap._hooks.function_watch import Around, Watch
from tensortap._record import unseen
from tensortap._record.guard import is_ours


class GraphWatch(Watch):
    """Counts each replay of a CUDA graph between install and remove."""

    def __init__(self, counts: unseen.Unseen) -> None:
        super().__init__([torch.cuda.CUDAGraph], "replay", lambda *_: counts.count(unseen.CUDA_GRAPH))


class Graphing(Around):
    """Takes our hooks off modules while PyTorch makes graphs of them: it refuses those with hooks, and would capture what hooks do."""

    def __init__(self, paused: Callable[[], AbstractContextManager[object]]) -> None:
        """What pauses is entered meanwhile: models are called to warm up."""
        self._paused = paused
        super().__init__([torch.cuda, torch.cuda.graphs], "make_graphed_callables", self._around)

    @contextmanager
    def _around(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        callables = args[0] if args else kwargs.get("callables")
        given = callables if isinstance(callables, tuple) else (callables,)
        with ExitStack() as meanwhile:
            meanwhile.enter_context(self._paused())
            for module in {part for one in given if isinstance(one, nn.Module) for part in one.modules()}:
                meanwhile.enter_context(_without_ours(module._forward_pre_hooks))
                meanwhile.enter_context(_without_ours(module._forward_hooks))
            yield


@contextmanager
def _without_ours(hooks: dict[int, Any]) -> Iterator[None]:
    """A module's hooks by their numbers, by which handles remove them; they are back in their places afterwards."""
    before = list(hooks.items())
    _replace(hooks, [(number, hook) for number, hook in before if not is_ours(hook)])
    try:
        yield
    finally:
        known = dict(before)
        gone = {number for number, hook in before if not is_ours(hook) and number not in hooks}
        fresh = [(number, hook) for number, hook in hooks.items() if number not in known]
        _replace(hooks, [*(one for one in before if one[0] not in gone), *fresh])


def _replace(hooks: dict[int, Any], by: Iterable[tuple[int, Any]]) -> None:
    hooks.clear()
    hooks.update(by)


def is_captured() -> bool:
    """Whether what the current stream is given is captured into a CUDA graph, and not done."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
