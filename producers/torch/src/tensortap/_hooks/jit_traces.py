"""torch.jit.trace: it runs code to see what that calls. Our mode of the dispatcher is off meanwhile, and nothing is recorded."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import torch

from tensortap import _torch_compat
from tensortap._hooks.function_watch import Around
from tensortap._hooks.mode_stacks import DISPATCHES
from tensortap._record import unseen

if TYPE_CHECKING:
    from tensortap._hooks.aten_mode import AtenMode

# Another library may have put a callable there that has no code; where it calls another of these, that is seen.
_CODES: Final = frozenset(getattr(inspect.unwrap(vars(_torch_compat.jit_trace)[name]), "__code__", None) for name in _torch_compat.JIT_TRACERS) - {None}


class JitTraces:
    """Counts traces between install and remove, and has the mode on the stack of the thread that installs it, but not while that traces."""

    def __init__(self, counts: unseen.Unseen, mode: AtenMode | None) -> None:
        self._counts, self._mode = counts, mode
        self._watches = [Around(_places(name), name, self._around) for name in _torch_compat.JIT_TRACERS]
        self._installed = self._is_postponed = False

    def install(self) -> None:
        """Hear of traces, and put the mode on the stack."""
        for watch in self._watches:
            watch.install()
        self._installed = self._is_postponed = True
        if _is_tracing():
            self._counts.count(unseen.TRACED)
        if self._mode:
            self._mode.on_this_thread()
        self.begin_step()

    def begin_step(self) -> None:
        """Put the mode on the stack, where a trace has kept install from it; no other thread's, and not where an op of ours has it off for a while."""
        mode = self._mode
        if mode and self._is_postponed and mode.thread == threading.get_ident() and not _is_tracing():
            self._is_postponed = False
            if not DISPATCHES.has(mode):
                DISPATCHES.enter(mode)

    def remove(self) -> None:
        """Undo both."""
        self._installed = self._is_postponed = False
        for watch in self._watches:
            watch.remove()
        if self._mode:
            DISPATCHES.leave(self._mode)

    @contextmanager
    def _around(self, args: object, kwargs: object) -> Iterator[None]:
        """One of the functions that trace is called, which may call another."""
        if not _is_tracing():
            self._counts.count(unseen.TRACED)
        mode = self._mode
        if mode is None or mode.thread != threading.get_ident() or not DISPATCHES.leave(mode):
            yield
            return
        try:
            yield
        finally:
            if self._installed and not DISPATCHES.has(mode):
                DISPATCHES.enter(mode)


def _places(name: str) -> list[object]:
    """Where a function is looked up that traces."""
    return [place for place in (_torch_compat.jit_trace, torch.jit) if name in vars(place)]


def _is_tracing() -> bool:
    """Whether this thread is within one of those functions, which also run the code to compare."""
    frame = sys._getframe()
    while (within := frame.f_back) is not None:
        if within.f_code in _CODES:
            return True
        frame = within
    return False
