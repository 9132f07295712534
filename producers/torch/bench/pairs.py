"""Times neighbouring steps by turns: what a machine does meanwhile meets both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

Step = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Seconds of steps, in pairs: of the clock, and of the processor."""

    recorded: list[tuple[float, float]]
    plain: list[tuple[float, float]]

    def ratio(self, which: int = 0) -> float:
        """The median over pairs, of the clock or (1) of the processor."""
        return statistics.median(one[which] / max(other[which], 1e-9) for one, other in zip(self.recorded, self.plain, strict=True))

    def added(self, which: int = 0) -> float:
        """Seconds that a recorded step takes longer, the median over pairs."""
        return statistics.median(one[which] - other[which] for one, other in zip(self.recorded, self.plain, strict=True))

    def milliseconds(self) -> float:
        """Of a plain step."""
        return 1e3 * statistics.median(wall for wall, _ in self.plain)


def timed(step: Step) -> tuple[float, float]:
    """Of one step."""
    wall, cpu = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - wall, time.process_time() - cpu


def by_turns(step: Step, most: int, seconds: float = float("inf")) -> Pairs:
    """Pairs of steps under a tap with `steps` of RECORDED, from its first step on; each must end with the tap's."""
    return _paired(lambda: timed(step), lambda: timed(step), most, seconds)


def armed(step: Step, tap: Callable[[], AbstractContextManager[object]], most: int, seconds: float = float("inf")) -> Pairs:
    """Pairs of steps under a tap and without one, each after a step that is not timed, since the first of a tap makes its files."""

    def after_one() -> tuple[float, float]:
        step()
        return timed(step)

    def tapped() -> tuple[float, float]:
        with tap():
            return after_one()

    return _paired(tapped, after_one, most, seconds)


def compared(one: Step, other: Step, most: int) -> Pairs:
    """Pairs of two kinds of steps."""
    return _paired(lambda: timed(one), lambda: timed(other), most, float("inf"))


# A tap records the first and the last of four steps: one step of each pair, in turn its first and its second.
RECORDED = "0-/4,3-/4"
_FEWEST = 3


def _paired(recorded: Callable[[], tuple[float, float]], plain: Callable[[], tuple[float, float]], most: int, seconds: float) -> Pairs:
    """So many pairs, or as many as the time allows; every other begins with the plain one. Two before are not counted."""
    found, end = Pairs(recorded=[], plain=[]), time.monotonic() + seconds
    for number in range(-2, most):
        if number == 0:
            found.recorded.clear()
            found.plain.clear()
        turns = [(recorded, found.recorded), (plain, found.plain)]
        for run, times in turns[:: -1 if number % 2 else 1]:
            times.append(run())
        if number + 1 >= _FEWEST and time.monotonic() > end:
            break
    return found
