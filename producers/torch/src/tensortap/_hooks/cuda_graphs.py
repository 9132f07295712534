"""CUDA graphs: what is captured into one, and replays, in which no hook runs: counted, so that they are not passed over in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from tensortap._hooks.function_watch import Around, Watch
from tensortap._record import module_calls, unseen


class GraphWatch(Watch):
    """Counts each replay of a CUDA graph between install and remove."""

    def __init__(self, counts: unseen.Unseen) -> None:
        super().__init__([torch.cuda.CUDAGraph], "replay", lambda *_: counts.count(unseen.CUDA_GRAPH))


class Graphing(Around):
    """Calls no hook of ours while PyTorch makes graphs of modules: it would capture what they do."""

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
            meanwhile.enter_context(module_calls.without({part for one in given if isinstance(one, nn.Module) for part in one.modules()}))
            yield


def is_captured() -> bool:
    """Whether what the current stream is given is captured into a CUDA graph, and not done."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
