"""How often a look is taken that costs what it costs."""

from __future__ import annotations

from typing import Final

_LEAST_APART: Final = 200  # times what a look takes: half a percent
_RARE_ENOUGH: Final = 4 * _LEAST_APART
_MOST_STEPS: Final = 1024


class Pace:
    """Every step at first, then every so many-th: a power of two, so that runs of one program have looks in common."""

    def __init__(self) -> None:
        self._every = 1
        self._steps = 0
        self._last_ns: int | None = None

    def is_due(self) -> bool:
        """Whether the step that begins has a look."""
        self._steps += 1
        return (self._steps - 1) % self._every == 0

    def took(self, cost_ns: int, now_ns: int) -> None:
        """A look is over; it took so much of the processor's time."""
        if self._last_ns is not None:
            apart = now_ns - self._last_ns
            if apart < _LEAST_APART * cost_ns:
                self._every = min(2 * self._every, _MOST_STEPS)
            elif apart > _RARE_ENOUGH * cost_ns and self._every > 1:
                self._every //= 2
        self._last_ns = now_ns
