"""The records that a step begins and ends, with what was counted in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from tensortap._record import unseen
from tensortap._record.logged import Logged
from tensortap._record.recorder import Recorder
from tensortap._session.step_boundaries import Facts
from tensortap._spool import layout


class StepRecords:
    """Those of one process. To be called under the recorder's lock."""

    def __init__(self, recorder: Recorder, logged: Logged, then: Callable[[Callable[[], None]], None], compiled: Callable[[], Sequence[str]]) -> None:
        """Then does something when all raw tensors of before are on file; compiled are the parts of models whose insides are not seen."""
        self._recorder, self._spool, self._unseen = recorder, recorder.spool, recorder.unseen
        self._logged, self._then, self._compiled = logged, then, compiled
        self._before = (0, 0, 0)
        self.step = -1  # the one under way

    def begin(self, step: int) -> None:
        """A step begins."""
        self._now_in(step)
        self._recorder.names.step = step
        self._before = self._counts()
        self._spool.step(step)
        self._spool.write(layout.STEP_KIND, layout.STEP, step, layout.STEP_BEGINS, time.time_ns(), 0, 0, 0, 0, 0, 0, 0)

    def end(self, facts: Facts) -> None:
        """The step under way ends, as soon as no row of it is pending."""
        spool = self._spool
        for part in self._compiled():
            self._unseen.count(unseen.COMPILED, part)
        counts = [after - before for after, before in zip(self._counts(), self._before, strict=True)]
        if dropped := counts[2]:
            self._unseen.count(unseen.DROPPED, "", dropped)
        for kind, count in spool.refused():
            self._unseen.count(unseen.UNDEFINED, kind, count)
        self.write_unseen()
        phase = spool.text(facts.phase)
        tokens, requests, of_trainer = (0 if count is None else count + 1 for count in (facts.tokens, facts.requests, facts.global_step))
        ended = (*counts, tokens, requests, phase, of_trainer)
        held = spool.hold(layout.STEP, self.step, layout.STEP_ENDS, time.time_ns(), *ended)
        self._recorder.measurer.then(partial(self._then, partial(spool.step_ends, held)))
        self._now_in(-1)

    def write_unseen(self) -> None:
        """What was not observed up to here, as of the step that is under way or was the last."""
        for reason, subject, count in self._unseen.drain():
            texts = self._spool.text(reason), self._spool.text(subject)
            self._spool.write(layout.UNSEEN_KIND, layout.UNSEEN, *texts, count, time.time_ns())

    def _counts(self) -> tuple[int, int, int]:
        return self._recorder.ops, self._spool.tensors, self._spool.dropped

    def _now_in(self, step: int) -> None:
        self.step = self._logged.step = step
