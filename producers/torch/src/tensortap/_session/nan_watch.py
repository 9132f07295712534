"""What one process does at the first value that is not finite, beside recording it: only where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim.optimizer import register_optimizer_step_pre_hook

from tensortap._record.on_nan import OnNan
from tensortap._record.recorder import Recorder
from tensortap._record.served_requests import Serving
from tensortap._session.halting import Halt


class NanWatch:
    """Hears of ops, and of optimizers, before which numbers of a device are waited for."""

    def __init__(self, recorder: Recorder, serving: Serving, rank: int, say: Callable[[str], None]) -> None:
        self._recorder = recorder
        self.ops = recorder.on_nan = OnNan(recorder, say)
        self.ops.served = lambda: serving.rows
        self._halt = Halt(rank, say) if "stop" in recorder.settings.on_nan else None
        if self._halt:
            self.ops.stop = self._halt.ask
        hook = recorder.guard.hook
        self._handle = register_optimizer_step_pre_hook(hook("before an optimizer", self._before_optimizer))

    def begin_step(self) -> None:
        """A step begins that is recorded."""
        self.ops.begin_step()

    def steps(self, step: int) -> None:
        """A step begins, recorded or not."""
        if self._halt:
            self._halt.begins(step)

    def rows_have_come(self) -> None:
        """A recorded step ends, and its numbers are there."""
        self.ops.end_step()

    def ended(self, step: int) -> None:
        """A step has ended. SystemExit is raised where that was the last one."""
        if self._halt:
            self._halt.ends(step)

    def close(self) -> None:
        """The tap ends."""
        self._handle.remove()
        self._recorder.on_nan = None

    def closed(self) -> None:
        """The tap has ended, and so has its spool."""
        if self._halt:
            self._halt.left()

    def _before_optimizer(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Weights are about to change: what a device computed with them is to be known."""
        recorder = self._recorder
        if recorder.live and self.ops.watches and recorder.measurer.is_late:
            with recorder.lock:
                recorder.complete_rows()
                self.ops.settle()
