"""The records that a step begins and ends, with what was counted in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tensortap._record import unseen
from tensortap._record.logged import Logged
from tensortap._record.recorder import Recorder
from tensortap._session.step_boundaries import Facts
from tensortap._spool import layout


_HIDES: Final = {unseen.COMPILED: "runs as compiled code", unseen.CUDA_GRAPH: "runs as a CUDA graph"}
_MOST_NAMED: Final = 3


class StepRecords:
    """Those of one process. To be called under the recorder's lock."""

    def __init__(
        self,
        recorder: Recorder,
        logged: Logged,
        then: Callable[[Callable[[], None]], None],
        compiled: Callable[[], Sequence[str]],
        say: Callable[[str], None],
    ) -> None:
        """Then does something when all raw tensors of before are on file; compiled are the parts of models whose insides are not seen."""
        self._recorder, self._spool, self._unseen = recorder, recorder.spool, recorder.unseen
        self._logged, self._then, self._compiled, self._say = logged, then, compiled, say
        self._hidden: set[str] = set()  # reasons of that kind that were told
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
        counts = self._unseen.drain()
        for reason, subject, count in counts:
            texts = self._spool.text(reason), self._spool.text(subject)
            self._spool.write(layout.UNSEEN_KIND, layout.UNSEEN, *texts, count, time.time_ns())
        for reason, how in _HIDES.items():
            parts = [subject for counted, subject, _ in counts if counted == reason]
            if parts and reason not in self._hidden:
                self._hidden.add(reason)
                self._say(f"{_named(parts)} {how}, in which no hook is called: what is inside is not seen; `tensortap run --eager` has it run without, and seen")

    def _counts(self) -> tuple[int, int, int]:
        return self._recorder.ops, self._spool.tensors, self._spool.dropped

    def _now_in(self, step: int) -> None:
        self.step = self._logged.step = step


def _named(parts: Sequence[str]) -> str:
    """The first parts of a model by their paths, and how many more; what has no path is a part of it."""
    names = [part or "a part of the model" for part in parts[:_MOST_NAMED]]
    if more := len(parts) - len(names):
        names.append(f"{more} more")
    return ", ".join(names)
