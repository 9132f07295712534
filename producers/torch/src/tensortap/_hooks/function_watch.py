"""Hears of calls of a function that is looked up where it may be replaced."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tensortap._record.heard_calls import around


class Watch:
    """Hears of each call of a function, between install and remove: whether it returned, its arguments by position and by name."""

    def __init__(self, places: Sequence[Any], name: str, heard: Callable[..., Any]) -> None:
        """The function has that name in each of the places, or is not heard of."""
        self._places, self._name, self._heard = places, name, heard
        self._original: Any = None
        self._wrapped: Any = None

    def install(self) -> None:
        """Wrap the function, if this torch has it in all places."""
        original = vars(self._places[0]).get(self._name)
        if self._wrapped is not None or original is None or not self._all_have(original):
            return
        self._original, self._wrapped = original, self._wrap(original)
        self._set(self._wrapped)

    def _wrap(self, original: Any) -> Any:
        return around(original, self._enter, is_method=isinstance(self._places[0], type))

    def _enter(self, *args: Any, **kwargs: Any) -> Any:
        """What leaves a call that begins, unless nobody hears of it any more."""
        return None if self._wrapped is None else functools.partial(self._leave, args, kwargs)

    def _leave(self, args: tuple[Any, ...], kwargs: dict[str, Any], *returned: Any) -> None:
        if self._wrapped is not None:
            self._heard(bool(returned), args, kwargs)

    def remove(self) -> None:
        """Put the original back. What was wrapped since keeps a wrap of ours that does nothing."""
        if self._wrapped is not None and self._all_have(self._wrapped):
            self._set(self._original)
        self._wrapped = None

    def _all_have(self, function: Any) -> bool:
        return all(vars(place).get(self._name) is function for place in self._places)  # as it lies there: what binds to objects is another when it is asked for

    def _set(self, function: Any) -> None:
        for place in self._places:
            setattr(place, self._name, function)


class Around(Watch):
    """Is entered before each call of a function and left after it, between install and remove."""

    def __init__(self, places: Sequence[Any], name: str, around: Callable[..., AbstractContextManager[object]]) -> None:
        """What is entered is made of the function's arguments, by position and by name."""
        super().__init__(places, name, around)

    def _enter(self, *args: Any, **kwargs: Any) -> Any:
        if self._wrapped is None:
            return None
        entered = self._heard(args, kwargs)
        entered.__enter__()
        return functools.partial(_exit, entered)


def _exit(entered: AbstractContextManager[object], *returned: Any) -> None:
    if returned:
        entered.__exit__(None, None, None)
    else:
        entered.__exit__(*sys.exc_info())
