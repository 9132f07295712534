"""Steps that a budget leaves out: their losses are looked at, and one that is not finite is written as a step of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from torch import Tensor

from tensortap._hooks.losses import LossWatch
from tensortap._record import unseen
from tensortap._record.glances import Glance, Glances, Losses
from tensortap._record.recorder import Recorder
from tensortap._session.step_boundaries import Facts

Write = Callable[[int, Facts], AbstractContextManager[None]]


class LeftOut:
    """Hears of losses from when it is made until it is closed, and looks at those of steps that are left out."""

    def __init__(self, recorder: Recorder, write: Write) -> None:
        """With write, a step's begin and end are written around what is written within it."""
        self._recorder, self._write = recorder, write
        self._glances: Glances[Facts] = Glances(recorder)
        self._watch = LossWatch(recorder.guard, self._look)
        self._watch.install()
        self._looks = False
        self.under_way = False  # a step that is left out

    def begin(self, step: int) -> None:
        """A step begins that is left out."""
        with self._recorder.lock:
            self._glances.begin(step)
        self._looks = self.under_way = True

    def pause(self) -> None:
        """Look at no loss until resume, or until another step begins."""
        self._looks = False

    def resume(self) -> None:
        """Look again, where a step is left out."""
        self._looks = self.under_way

    def end(self, facts: Facts) -> None:
        """The step that was left out is over."""
        self._looks = self.under_way = False
        with self._recorder.lock:
            self._glances.end(facts)

    def tell(self, *, wait: bool = False) -> int:
        """Write the losses that are not finite, as far as is known without waiting. The last of their steps; -1 for none."""
        if not self._glances.waits:
            return -1
        with self._recorder.lock:
            bad = self._glances.known(wait=wait)
            for glance in bad:
                self._tell(glance)
        return bad[-1].step if bad else -1

    def forget(self) -> None:
        """In a child: what devices were asked for is the parent's."""
        self._glances.forget()

    def close(self) -> None:
        """Hear of no more losses."""
        self._looks = False
        self._watch.remove()

    def _look(self, losses: Sequence[Tensor]) -> None:
        if self._looks:
            with self._recorder.lock:
                self._glances.look(losses)

    def _tell(self, glance: Glance[Facts]) -> None:
        recorder = self._recorder
        recorder.observer.overflowed = True
        assert glance.facts is not None
        with self._write(glance.step, glance.facts):
            recorder.unseen.count(unseen.ONLY_LOSS)
            for losses in glance.losses:
                self._tell_losses(losses)

    def _tell_losses(self, losses: Losses) -> None:
        recorder = self._recorder
        recorder.micro_step = losses.micro_step
        seq = recorder.begin_always(losses.op)
        for rows in losses.rows(seq):
            recorder.spool.keep(rows)
