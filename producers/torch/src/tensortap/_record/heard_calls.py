"""Hears of calls of functions as far as that is possible without a frame of ours: by the C kernel, and else by functions in their place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from tensortap._stats import kernel

Enters = Callable[..., Any]  # what csrc/calls.c says of it
_SIZE: Final = FunctionType.__basicsize__


_library: Final = kernel.load()
_hearing: Final = _library.hearing if _library else None


def hear_calls(owner: type, name: str, registry: dict[int, Any], meets: Enters | None) -> Callable[[], None]:
    """Hear of calls of a class's method, as the registry says by its objects' ids; of others by `meets`. Returns what undoes it."""
    function, hearing = vars(owner)[name], _hearing
    if hearing and hearing.calls(function, _SIZE, registry, meets):
        return lambda: hearing.no_more(function)

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        enters = registry.get(id(self), meets)
        return through(function, enters, self, *args, **kwargs) if enters else function(self, *args, **kwargs)

    setattr(owner, name, call)

    def undo() -> None:
        if vars(owner)[name] is call:
            setattr(owner, name, function)

    return undo


def hear_mode(mode: Any, name: str) -> None:
    """Let torch, where it calls that method of a mode, call what the mode was given, entered by the mode's `_enter`."""
    hearing = _hearing
    if hearing:
        setattr(mode, name, hearing.of_mode(mode))


def around(function: Any, enters: Enters, *, is_method: bool) -> Any:
    """A function to be put in the place of another, each call of which is entered."""
    hearing = _hearing
    if hearing:
        made = hearing.around(getattr(function, "__name__", "call"), function, enters)
        return hearing.as_method(made) if is_method else made

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return through(function, enters, *args, **kwargs)

    return call


def through(function: Any, enters: Enters, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function, entered so."""
    entered = enters(*args, **kwargs)
    if entered is None:
        return function(*args, **kwargs)
    leaves = entered
    if type(entered) is tuple:
        leaves, args, kwargs = entered
    return left(leaves, function, args, kwargs)


def left(leaves: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function and leave the call: with its result, which that may change, or while what it raised is handled."""
    try:
        result = function(*args, **kwargs)
    except Exception:  # the program's own, which goes on
        leaves()
        raise
    changed = leaves(result)
    return result if changed is None else changed
