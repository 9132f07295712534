"""The boundary between the model and us: what goes wrong on our side is counted and goes no further."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, Final

import torch

from tensortap import _torch_compat
from tensortap._record import unseen
from tensortap._record.not_finite import NotFinite
from tensortap._record.own_time import Clock

# Neither modes nor subclasses see what a hook does; and attributes of tensors cost a sixth.
unintercepted: Final[Callable[[], AbstractContextManager[Any]]] = _torch_compat.DisableTorchFunction
_is_compiling: Final[Callable[[], bool]] = torch.compiler.is_compiling
_is_tracing: Final[Callable[[], object]] = _torch_compat.get_tracing_state


class _Hook:
    """A guarded function."""

    __slots__ = ("_call", "_guard", "_place")
    __torch_unserializable__ = True  # a tensor that has it is saved without a warning

    def __init__(self, guard: Guard, place: str, function: Callable[..., Any], bound: tuple[object, ...]) -> None:
        self._guard, self._place, self._call = guard, place, partial(function, *bound)

    def __call__(self, *args: Any) -> Any:
        if _is_compiling() or _is_tracing() is not None:
            return None
        try:
            with unintercepted():
                return self._call(*args)
        except Exception as error:  # the one place where all are caught
            self._guard.caught(self._place, error)
            return None


class Guard:
    """Wraps hooks. An error of ours is counted, and the first is told on stderr."""

    def __init__(self, counts: unseen.Unseen, clock: Clock | None = None) -> None:
        """With a clock, the time of hooks is taken."""
        self._unseen, self._clock = counts, clock
        self._told = False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose time is taken where there is a clock."""
        return self._clock.timed(function) if self._clock else function

    def hook(self, place: str, function: Callable[..., Any], *bound: object) -> Callable[..., Any]:
        """The function as a hook of the model: it raises nothing, and returns None when something goes wrong in it."""

        return _Hook(self, place, self.timed(function), bound)

    def do(self, place: str, action: Callable[..., None], *args: object) -> None:
        """Do that, where the application calls: what it raises is counted, as of a hook."""
        try:
            with unintercepted():
                self.timed(action)(*args)
        except Exception as error:  # as in a hook: the application has done nothing wrong
            self.caught(place, error)

    def caught(self, place: str, error: Exception) -> None:
        """Count an error of ours; raise the one that a user asked for."""
        if isinstance(error, NotFinite):
            raise error
        self._unseen.count(unseen.HOOK_ERROR, f"{place}: {type(error).__name__}")
        if not self._told:
            self._told = True
            told = "".join(traceback.format_exception(error))
            with suppress(OSError, ValueError, AttributeError):  # a process may have no stderr
                print(f"tensortap: an error of ours, which the model does not see; later ones are counted only\n{told}", file=sys.stderr)
