"""Which steps a tap leaves out so that it takes no more than a share of the program's time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tensortap._record.own_time import Clock

_OF_LATEST: Final = 0.25  # the weight of the latest step in the mean of their times
_FORCED_EVERY: Final = 64  # steps: of those that are owed, one is recorded
_WIDEST: Final = 1 << 20  # grid of steps


class Budget:
    """Which steps may be recorded, so that the tap's time stays below a share of the program's own.

    Recorded are multiples of a power of two, as small a one as the share allows: runs of different budgets have the
    multiples of the greater one in common. A step is left out, too, as long as what was spent is not earned yet.
    """

    def __init__(self, share: float, clock: Clock, now: Callable[[], int] = time.perf_counter_ns) -> None:
        self._share, self._clock, self._now = share, clock, now
        self._begun = self._step_begun = now()
        self._spent_before = 0
        # Nanoseconds: of ours in a recorded step and in one that is left out, of the program's own in any.
        self._cost = self._glance = self._plain = 0.0
        self._recorded = self._owed = False
        self._paid = -_FORCED_EVERY  # the step that was owed last

    @property
    def every(self) -> int:
        """Which multiples are recorded."""
        every = 1
        while every < _WIDEST and self._cost + self._glance * (every - 1) > self._share * self._plain * every:
            every *= 2
        return every

    def owe(self) -> None:
        """The next step is to be recorded whatever it costs, unless another one was just before."""
        self._owed = True

    def wants(self, step: int) -> bool:
        """Whether a step that begins now may be recorded. To be asked once for each step that is wanted otherwise."""
        self._learn()
        spent = self._clock.spent_ns
        earned = self._share * (self._now() - self._begun - spent)
        affordable = step % self.every == 0 and spent + self._cost <= earned
        self._recorded = self._pays(step) or not self._cost or affordable
        return self._recorded

    def _pays(self, step: int) -> bool:
        owed, self._owed = self._owed, False
        if not owed or step - self._paid < _FORCED_EVERY:
            return False
        self._paid = step
        return True

    def _learn(self) -> None:
        """The step before is over: what it cost, and how long it took without that."""
        now, spent = self._now(), self._clock.spent_ns
        ours = spent - self._spent_before
        if self._recorded:
            self._cost = _mean(self._cost, ours)
        elif self._cost:
            self._glance = _mean(self._glance, ours)
        if self._cost:
            self._plain = _mean(self._plain, now - self._step_begun - ours)
        self._step_begun, self._spent_before = now, spent


def _mean(before: float, latest: float) -> float:
    return before + (latest - before) * _OF_LATEST if before else float(latest)
