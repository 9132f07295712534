"""The steps of one tap: each begins and ends here, whether it is recorded, left out, or not wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tensortap._config.filters import Filter
from tensortap._record import unseen
from tensortap._record.guard import Guard
from tensortap._record.token_sites import ServedTokens, requests_of
from tensortap._session.control import Detail
from tensortap._session.moments import Moment
from tensortap._session.notices import Notices
from tensortap._session.recording import Process
from tensortap._session.step_boundaries import Boundaries, Facts
from tensortap._session.thinning import Thinning


class Stepping:
    """Which step is under way, and what is known of it. The first that begins makes the recording of this process."""

    def __init__(
        self,
        wanted: Filter,
        boundaries: Boundaries,
        thinning: Thinning,
        guard: Guard,
        notices: Notices,
        *,
        make: Callable[[], Process | None],
        made: Callable[[Process], None],
    ) -> None:
        """Make is called as a step begins and there is no recording; after None there is none to come. Made is told of one."""
        self._filter, self._boundaries, self._thinning = wanted, boundaries, thinning
        self._guard, self._notices, self._make, self._made = guard, notices, make, made
        self.process: Process | None = None
        self.is_over = False  # nothing will be recorded any more
        self.number = 0  # of the step under way, or else of the next
        self.is_under_way = False
        self.facts = Facts()  # of the step under way, as far as the application tells
        self.facts_ahead: Facts | None = None  # of a step that the call which is coming would begin
        self.global_step: int | None = None  # of a trainer that says it
        self._of_trainer: int | None = None  # as the step under way began

    def begin(self) -> None:
        """A step begins."""
        process = self.recording()
        if process is None:
            return
        self.is_under_way, self._of_trainer = True, self.global_step
        process.idle(False)
        if process.nan_watch:
            process.nan_watch.steps(self.number)
        self._boundaries.begun()
        moment = process.moment(self.number, self.facts_ahead or self.facts, self._boundaries.phase_ahead)
        asked = process.demands.step_begins(moment)
        wanted, unmet = self._is_wanted(process, moment)
        self.look_back()
        affordable = wanted and self._thinning.affords(self.number)
        if affordable or asked:
            self._record(process, asked, affordable)
        else:
            self._leave_out(process, wanted, unmet)

    def end(self) -> None:
        """The step under way ends, if one is. Raises what on_nan asks for."""
        if not self.is_under_way:
            return
        self.is_under_way = False
        process = self.process
        try:
            self._write_end(process)
        finally:
            self.facts = Facts()
            if process and not self.is_over:
                process.idle(True)
            if process and process.nan_watch and not self.is_over:
                process.nan_watch.ended(self.number)

    def end_and_count(self) -> None:
        """As end. Whatever that raises, the next step is the next."""
        try:
            self.end()
        finally:
            self.number += 1

    def rest(self) -> None:
        """The step under way ends, if one is."""
        if self.is_under_way:
            self.end_and_count()

    def expect(self, told: Iterable[ServedTokens]) -> None:
        """What is called next is a step of these tokens."""
        self.rest()
        self.facts = replace(self.facts, served=requests_of(told))

    def look_back(self, *, wait: bool = False) -> None:
        """Write the losses of steps that were left out and are not finite, as far as is known without waiting, or all."""
        if self.process and self.process.left_out:
            self._guard.do("losses of steps left out", self._thinning.look_back, self.process.left_out, wait)

    def tell_unmatched(self) -> None:
        """Say which filters have met nothing so far."""
        for sentence in self._filter.unmatched():
            self._notices.say(sentence)

    def after_fork(self) -> None:
        """In a child: what was recorded so far is the parent's, and a step that begins is its first."""
        process, self.process = self.process, None
        self.is_under_way, self.number = False, 0
        if process:
            process.abandon()

    def prepare(self) -> None:
        """Make the recording of this process before its first step begins."""
        self.recording()

    def recording(self) -> Process | None:
        """That of this process, made where there is none yet; None where there is none to come."""
        if self.process is None and not self.is_over:
            self.is_over = True  # unless all goes well: what fails now would fail at each forward
            self.process = self._make()
            if self.process:
                self._made(self.process)
                self.is_over = False
        return self.process

    def _is_wanted(self, process: Process, moment: Moment) -> tuple[bool, str]:
        """Whether the settings want the step, and which condition it does not fulfil, where all else does."""
        if not self._filter.wants_step(moment.step) or process.demands.control.stopped:
            return False, ""
        unmet = process.standing.unmet(moment) if process.standing else ""
        return not unmet, unmet

    def _record(self, process: Process, asked: Detail | None, wanted: bool) -> None:
        self.look_back(wait=True)
        process.begin_step(self.number, asked, wanted=wanted)
        process.recorder.live = True

    def _leave_out(self, process: Process, wanted: bool, unmet: str) -> None:
        process.uninstall()
        process.unseen.count(unseen.BUDGET if wanted else unseen.STEP_NOT_WANTED, unmet)
        if wanted and process.left_out:
            process.left_out.begin(self.number)

    def _write_end(self, process: Process | None) -> None:
        if process and process.is_in_step:
            process.recorder.live = False
            self._guard.do("end of a step", process.end_step, self._all_facts())
            self.tell_unmatched()
        elif process and process.left_out and process.left_out.under_way:
            process.left_out.end(self._all_facts())
            self.look_back()

    def _all_facts(self) -> Facts:
        return replace(self.facts, phase=self.facts.phase or self._boundaries.phase(), global_step=self._of_trainer)
