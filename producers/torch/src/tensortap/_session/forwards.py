"""Calls of models: the outermost one, of the thread that computes, may begin a step."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from torch import nn

from tensortap._hooks.cuda_graphs import is_captured
from tensortap._record import unseen
from tensortap._record.guard import Guard
from tensortap._record.model_roots import Roots
from tensortap._session.armed import Armed, Handle
from tensortap._session.callers import Callers
from tensortap._session.step_boundaries import Boundaries
from tensortap._session.stepping import Stepping


class Forwards:
    """Of the models of one tap, which may become more."""

    def __init__(self, roots: Roots, steps: Stepping, boundaries: Boundaries, guard: Guard, counts: unseen.Unseen, *, automatic: bool, begin: bool) -> None:
        """With automatic they say where steps begin; without begin none begins a step, and without either nobody does but the application."""
        self._roots, self._steps, self._boundaries = roots, steps, boundaries
        self._is_automatic = self.is_on = automatic
        self._callers = Callers(roots, counts)
        before, after = guard.hook("before a root", self.begins), guard.hook("after a root", self._ends)
        self._armed = Armed((before, after) if begin else None)

    @property
    def may_begin(self) -> bool:
        """Whether a forward that comes now begins a step, where none is under way."""
        return self.is_on and self._armed.forwards_begin

    def arm(self) -> None:
        """Hear of calls of the models that there are."""
        self._armed.arm(self._roots)

    def attach(self, models: Sequence[nn.Module]) -> bool:
        """Hear of calls of these, too. Whether any of them is a further one."""
        fresh = [model for model in models if self._roots.place(model) < 0]
        for model in fresh:
            self._roots.add(model)  # the process shares these
            self._boundaries.more_models()
        self._armed.arm(fresh)
        return bool(fresh)

    def explicit(self) -> None:
        """From here on this thread computes, and says itself where steps begin."""
        self.is_on, self._is_automatic = True, False
        self._callers.take_over()

    def take_over(self) -> None:
        """This thread computes from here on."""
        self._callers.take_over()

    def undo_too(self, handle: Handle) -> None:
        """Undo this registration, too."""
        self._armed.undo_too(handle)

    def remove(self) -> None:
        """Undo all."""
        self._armed.remove()

    def after_fork(self) -> None:
        """In a child: nobody has called yet."""
        self._callers.forget()

    def begins(self, root: nn.Module, args: object) -> None:
        """A root is called. A call within another module's is none of a step's business."""
        steps = self._steps
        if steps.is_over or not self.is_on or not self._is_ours(root):
            return
        if steps.is_under_way and is_captured():
            return  # the end of a step asks the device, which a stream that is captured refuses
        if self._is_automatic and self._boundaries.begins_step(root, steps.is_under_way, steps.facts.phase):
            if steps.is_under_way:
                steps.end_and_count()
            steps.begin()
        elif not steps.is_under_way:
            steps.begin()
        further = self._boundaries.enter(root)
        if process := steps.process:
            process.recorder.micro_step += further
            if process.recorder.live:
                process.recorder.names.called_from(sys._getframe(1))

    def _ends(self, root: nn.Module, args: object, result: object) -> None:
        if result is None and sys.exc_info()[1] is not None and self._steps.is_under_way and self._is_ours(root):
            self._boundaries.raised()

    def _is_ours(self, root: nn.Module) -> bool:
        """Whether the call of a root is a step's business."""
        process = self._steps.process
        frames = process.recorder.thread.frames if process else []
        return not self._callers.is_nested(root, frames) and self._callers.is_owner(counts=process is not None)
