"""Which calls of models make steps: the outermost ones, of the thread that computes."""

from __future__ import annotations

import sys
import threading

from torch import nn

from tensortap._record import unseen
from tensortap._record.calls_under_way import called
from tensortap._record.model_roots import Roots
from tensortap._record.frames import Frame


class Callers:
    """Knows the thread, which is the first that calls; another one takes over when it has ended."""

    def __init__(self, roots: Roots, counts: unseen.Unseen) -> None:
        self._roots, self._unseen = roots, counts
        self._owner = 0

    def take_over(self) -> None:
        """The thread that calls is the one from here on."""
        self._owner = threading.get_ident()

    def forget(self) -> None:
        """Nobody has called yet."""
        self._owner = 0

    def is_owner(self, counts: bool) -> bool:
        """Whether it is the thread that calls; another one may be counted."""
        this = threading.get_ident()
        if self._owner != this and not any(thread.ident == self._owner for thread in threading.enumerate()):
            self._owner = this
        if self._owner != this and counts:
            self._unseen.count(unseen.OTHER_THREAD, "forward")
        return self._owner == this

    def is_nested(self, root: nn.Module, frames: list[Frame]) -> bool:
        """Whether another module of ours is running in this thread. Frames left by an exception that no hook saw are dropped."""
        if not frames and len(self._roots) == 1:
            return False
        outer = [module for module in called(sys._getframe(1)) if module is not root]
        if any(self._roots.place(module) >= 0 or any(module is frame.module for frame in frames[:1]) for module in outer):
            return True
        frames.clear()
        return False
