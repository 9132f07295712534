"""The step of an optimizer as the parent of what it calls, under the name that msProbe gives it."""

from __future__ import annotations

from typing import Any, Final

from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from tensortap._record.frames import Frame
from tensortap._record.recorder import Recorder

_NAME: Final = "optimizer"


class OptimizerHooks:
    """Hooks on every optimizer's step. They record no op; those within have theirs as parent."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._handles: list[Any] = []

    def install(self) -> None:
        """Hook."""
        hook = self._recorder.guard.hook
        self._handles.append(register_optimizer_step_pre_hook(hook("before an optimizer", self._before)))
        self._handles.append(register_optimizer_step_post_hook(hook("after an optimizer", self._after)))

    def remove(self) -> None:
        """Undo it."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _before(self, optimizer: object, args: object, kwargs: object) -> None:
        recorder = self._recorder
        if recorder.live:
            with recorder.lock:
                op = recorder.names.named(_NAME)
            recorder.thread.frames.append(Frame(op, 0, "", optimizer, None))

    def _after(self, optimizer: object, args: object, kwargs: object) -> None:
        frames = self._recorder.thread.frames
        if any(frame.module is optimizer for frame in frames):
            while frames.pop().module is not optimizer:
                pass
