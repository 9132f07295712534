"""Replays of CUDA graphs, in which no hook runs: counted, so that they are not passed over in silence."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tensortap._record import unseen


class GraphWatch:
    """Counts each replay of a CUDA graph between install and remove."""

    def __init__(self, counts: unseen.Unseen) -> None:
        self._unseen = counts
        self._original: Callable[..., Any] | None = None
        self._wrapped: Callable[..., Any] | None = None

    def install(self) -> None:
        """Wrap the method that replays, where this torch has it."""
        original = getattr(torch.cuda.CUDAGraph, "replay", None)
        if original is None or self._wrapped is not None:
            return

        @functools.wraps(original)
        def replay(graph: Any) -> Any:
            if self._wrapped is not None:
                self._unseen.count(unseen.CUDA_GRAPH)
            return original(graph)

        self._original, self._wrapped = original, replay
        setattr(torch.cuda.CUDAGraph, "replay", replay)

    def remove(self) -> None:
        """Put the original back. What was wrapped since keeps a wrap of ours that does nothing."""
        if self._wrapped is not None and torch.cuda.CUDAGraph.replay is self._wrapped:
            setattr(torch.cuda.CUDAGraph, "replay", self._original)
        self._wrapped = None
