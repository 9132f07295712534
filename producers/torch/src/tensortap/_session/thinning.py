"""What a session leaves out so that it keeps its budget, and what it says of that."""

from __future__ import annotations

from tensortap._record.own_time import Clock
from tensortap._session.budget import Budget
from tensortap._session.left_out import LeftOut
from tensortap._session.notices import Notices


class Thinning:
    """Decides which steps are recorded. Without a budget all are, and no time is taken."""

    def __init__(self, share: float | None, notices: Notices) -> None:
        self._share, self._notices = share or 0.0, notices
        self.clock = Clock() if share else None
        self._budget = Budget(share, self.clock) if share and self.clock else None

    def affords(self, step: int) -> bool:
        """Whether the step that begins may be recorded."""
        if self._budget is None or self._budget.wants(step):
            return True
        self._notices.say(f"steps are left out to keep the budget of {100 * self._share:.3g}% of the time; reports count them")
        return False

    def look_back(self, left_out: LeftOut, wait: bool) -> None:
        """Losses that were not finite are written, as far as is known without waiting, and the step after them is recorded."""
        bad = left_out.tell(wait=wait)
        if bad >= 0 and self._budget:
            self._budget.owe()
            self._notices.say_once("loss", f"a loss was not finite in step {bad}, which the budget left out: the loss is recorded, and the next step is")
