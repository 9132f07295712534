"""The time that a tap takes within the program that it is a guest of."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

_Returned = TypeVar("_Returned")


class Clock:
    """Adds up the time of our own code on the program's threads."""

    def __init__(self) -> None:
        self._ns = 0
        self._since = 0  # when the code that runs now began; 0: none runs

    @property
    def spent_ns(self) -> int:
        """So far, with the code that runs now."""
        since = self._since
        return self._ns + (time.perf_counter_ns() - since if since else 0)

    def timed(self, function: Callable[..., _Returned]) -> Callable[..., _Returned]:
        """The function, whose time counts; within another one that does, or beside it in another thread, it counts once."""

        def run(*args: Any) -> _Returned:
            if self._since:
                return function(*args)
            begun = self._since = time.perf_counter_ns()
            try:
                return function(*args)
            finally:
                self._since = 0
                self._ns += time.perf_counter_ns() - begun

        return run
