"""One tap: armed on the roots of models, it records the steps that are wanted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from torch import nn

from tensortap._config.filters import Filter
from tensortap._config.settings import Settings
from tensortap._health.signals import DetailSignal
from tensortap._hooks.collective_calls import CollectiveCalls
from tensortap._hooks.cuda_graphs import Graphing, is_captured
from tensortap._record import unseen
from tensortap._record.guard import Guard, unintercepted
from tensortap._record.model_roots import FoundRoots, Models, Roots
from tensortap._record.served_requests import Request
from tensortap._session import forks
from tensortap._session.armed import Armed, Handle
from tensortap._session.callers import Callers
from tensortap._session.ending import Ending
from tensortap._session.making import make
from tensortap._session.notices import Notices
from tensortap._session.recording import Process
from tensortap._session.step_boundaries import Boundaries, Facts
from tensortap._session.telling import MOST_NAME, Telling
from tensortap._session.thinning import Thinning
from tensortap._spool.folder import make_root


class Session:
    """A tap on models. Once it is made, none of its methods raises."""

    def __init__(
        self,
        settings: Settings,
        models: Models | FoundRoots = (),
        *,
        automatic: bool = True,
        forwards_begin: bool = True,
        calls: CollectiveCalls | None = None,
    ) -> None:
        """Arm the roots. With automatic, forwards and optimizers say where steps begin; else start, stop and step do.

        Without forwards_begin nothing is recorded between step and the next start, whatever is called. Calls are those that
        were numbered before there was a model.
        """
        if settings.enabled:
            make_root(settings.spool)
        self.settings = settings
        self.facts = Facts()  # of the step under way, as far as the application tells
        self.facts_ahead: Facts | None = None  # of a step that the call which is coming would begin
        self._roots = models if isinstance(models, FoundRoots) else Roots(models)
        self._unseen = unseen.Unseen()
        self._notices = Notices()
        self._thinning = Thinning(settings.budget, self._notices)
        self._guard = Guard(self._unseen, self._thinning.clock)
        self._filter = Filter(settings)
        self._boundaries = Boundaries(self._roots, self._guard, self._looks_odd)
        self._process: Process | None = None
        self._step, self._under_way = 0, False
        self._on, self._closed = automatic, not settings.enabled
        self._automatic = automatic
        self._global_step: int | None = None  # of a trainer that says it
        self._of_trainer: int | None = None  # as the step under way began
        self._callers = Callers(self._roots, self._unseen)
        before, after = self._guard.hook("before a root", self._forward_begins), self._guard.hook("after a root", self._forward_ends)
        self._armed = Armed(self._guard, (before, after) if forwards_begin else None)
        self._graphing = Graphing(lambda: self._process.recorder.paused() if self._process else nullcontext())
        self._graphing.install()
        self._calls = calls or CollectiveCalls(self._guard)
        if settings.enabled:
            self._calls.install()
        self._signal = DetailSignal(settings.signal, self._signalled)
        self._armed.arm(self._roots)
        forks.hear_of(self)
        self._ending = Ending(self._program_ends)
        self._telling = Telling(self._save_of_program, lambda: self.facts.served, self._guard.caught)
        if settings.enabled:
            self._telling.begin()

    def start(self, models: Models | None = None) -> None:
        """Record from here on, in the step under way or a new one."""
        self._safely("start", self._start, models)

    def stop(self) -> None:
        """Record nothing until start; the step stays under way."""
        self._safely("stop", self._stop)

    def step(self) -> None:
        """The step under way ends here. The next begins at start, or at the next forward."""
        self._safely("step", self._end_explicitly)

    def trainer_begins(self, global_step: int, phase: str = "") -> None:
        """A trainer begins a step of its own, which holds all until trainer_ends: after so many optimizer steps, maybe of a phase."""
        self._safely("a trainer's step", self._turn, global_step, phase, True)

    def trainer_ends(self, global_step: int) -> None:
        """The trainer's step is over, after so many optimizer steps. What is called before its next one is as without a trainer."""
        self._safely("a trainer's step", self._turn, global_step, "", False)

    def save(self, value: object, name: str, gradient: bool = True, keep: bool = False) -> None:
        """Record a value under a name, in the step under way or a new one, and the gradients of its tensors when they come.

        With `keep`, as with the task `tensor`, the tensors themselves are written into files.
        """
        self._safely("save", self._save, value, name, gradient, keep)

    def found(self, root: nn.Module) -> None:
        """A model, or more in it than there was before, is met in its call: it is recorded from here on."""
        self._safely("a model", self._take, root)

    def forward_begins(self, root: nn.Module) -> None:
        """A root is being called, and was when the tap on it was made."""
        self._safely("forward", self._forward_begins, root, ())

    def is_led_by(self, root: nn.Module) -> bool:
        """Whether the step under way began with this root."""
        return self._boundaries.is_led_by(self._roots.place(root))

    def count(self, reason: str, subject: str) -> None:
        """Something that this tap cannot see was met."""
        self._unseen.count(reason, subject)

    def serve(self, served: Sequence[Request]) -> None:
        """The step under way serves parts of these requests."""
        self._safely("serve", self._serve, served)

    def pad(self, rows: int, tokens: int) -> None:
        """In the step under way, tensors of so many rows hold so many tokens, and then padding."""
        if self._process:
            self._process.serving.pad(rows, tokens)

    def hook(self, place: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as a hook that raises nothing, whose errors are counted."""
        return self._guard.hook(place, function)

    def undo_too(self, handle: Handle) -> None:
        """Undo this registration with all else when the tap ends; at once where it has ended."""
        if self._closed:
            handle.remove()
        else:
            self._armed.undo_too(handle)

    def number_from(self, step: int) -> None:
        """The step under way, or else the next, has this number."""
        self._step = step

    @property
    def has_models(self) -> bool:
        """Whether any model was given yet."""
        return any(True for _ in self._roots)

    @property
    def is_closed(self) -> bool:
        """Whether nothing will be recorded any more."""
        return self._closed

    def close(self) -> None:
        """End the step and undo everything. May be called twice."""
        self._safely("close", self._close)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: object, exception: BaseException | None, trace: object) -> None:
        self._safely("an exception", self._raised, exception)
        self.close()

    def _program_ends(self) -> None:
        """Python tells here of the exception that ended the program; where a person types, of the last one that they saw."""
        if not hasattr(sys, "ps1"):
            self._safely("an exception", self._raised, getattr(sys, "last_value", None))
        self.close()

    def _raised(self, exception: BaseException | None) -> None:
        if exception is not None and self._process and not self._closed:
            with self._process.recorder.lock:
                self._process.recorder.raised(exception)

    def _safely(self, place: str, action: Callable[..., None], *args: object) -> None:
        try:
            self._guard.timed(action)(*args)
        except Exception as error:  # as in Guard: the application calls, and has done nothing wrong
            self._guard.caught(place, error)

    def _start(self, models: Models | None) -> None:
        if self._closed:
            return
        if models is not None and self._attach([models] if isinstance(models, nn.Module) else list(models)) and self._process:
            self._process.uninstall()  # what is put in place below is in the further models, too
        self._on, self._automatic = True, False
        self._callers.take_over()
        if not self._under_way:
            self._begin()
        elif self._process and self._process.step >= 0:
            self._process.install()
            self._process.recorder.live = True
        elif self._process and self._process.left_out:
            self._process.left_out.resume()

    def _stop(self) -> None:
        self._on = False
        if self._process:
            self._process.uninstall()

    def _save(self, value: object, name: str, gradient: bool, keep: bool) -> None:
        if self._closed:
            return
        if not self._under_way:
            self._boundaries.explicit()
            self._begin()
        if self._process and self._process.step >= 0:
            with unintercepted():
                self._process.saver.save(value, name, gradient, keep)

    def _save_of_program(self, value: object, name: str) -> None:
        self._safely("save", self._save_within_step, value, name)

    def _save_within_step(self, value: object, name: str) -> None:
        """As save, by code that need not know of the tap: where steps begin is as without it."""
        if not self._under_way and not self._closed and self._on and self._armed.forwards_begin:
            self._begin()
        if self._under_way:
            self._save(value, name[:MOST_NAME], True, False)
        else:
            self._unseen.count(unseen.OUTSIDE_STEP, name[:MOST_NAME])

    def _serve(self, served: Sequence[Request]) -> None:
        process = self._process
        if self._under_way and process and process.step >= 0:
            with process.recorder.lock:
                process.serving.write(served)

    def _end_explicitly(self) -> None:
        self._boundaries.explicit()
        self._end_and_count()

    def _end_and_count(self) -> None:
        """Whatever it raises, as on_nan asks, the next step is the next."""
        try:
            self._end()
        finally:
            self._step += 1

    def _turn(self, global_step: int, phase: str, begins: bool) -> None:
        if self._closed:
            return
        self._boundaries.explicit(begins)
        if self._under_way:
            self._end_and_count()
        self._global_step = global_step
        self.facts = Facts(phase=phase)
        if begins and self._on:
            self._callers.take_over()
            self._begin()

    def _close(self) -> None:
        self._ending.forget()
        if self._closed:
            return
        self._closed = True
        try:
            self._end()
        finally:  # it may raise, as on_nan asks
            self._undo()

    def _undo(self) -> None:
        self._telling.end()
        self._armed.remove()
        self._signal.remove()
        if self._process:
            self._look_back(self._process, True)
            self._tell_unmatched()
            self._calls.log = None
            self._process.close()
            self._process = None
        self._calls.remove()
        self._graphing.remove()
        self._boundaries.close()  # below what the process has put over it

    def _attach(self, roots: Sequence[nn.Module]) -> bool:
        """Whether any of them is a further one."""
        fresh = [root for root in roots if self._roots.place(root) < 0]
        for root in fresh:
            self._roots.add(root)  # the process shares these
            self._boundaries.more_models()
        self._armed.arm(fresh)
        return bool(fresh)

    def _take(self, root: nn.Module) -> None:
        self._attach([root])
        if self._process:
            self._process.take(root)

    def _forward_begins(self, root: nn.Module, args: object) -> None:
        """A root is called. A call within another module's is none of a step's business."""
        if self._closed or not self._on or not self._is_ours(root):
            return
        if self._under_way and is_captured():
            return  # the end of a step asks the device, which a stream that is captured refuses
        if self._automatic and self._boundaries.begins_step(root, self._under_way, self.facts.phase):
            if self._under_way:
                self._end_and_count()
            self._begin()
        elif not self._under_way:
            self._begin()
        further = self._boundaries.enter(root)
        if self._process:
            self._process.recorder.micro_step += further
        if self._process and self._process.recorder.live:
            self._process.recorder.names.called_from(sys._getframe(1))

    def _forward_ends(self, root: nn.Module, args: object, result: object) -> None:
        if result is None and sys.exc_info()[1] is not None and self._under_way and self._is_ours(root):
            self._boundaries.raised()

    def _begin(self) -> None:
        process = self._process or self._make()
        if process is None:
            return
        self._under_way, self._of_trainer = True, self._global_step
        if process.nan_watch:
            process.nan_watch.steps(self._step)
        self._boundaries.begun()
        wanted = self._filter.wants_step(self._step)
        moment = process.moment(self._step, self.facts_ahead or self.facts, self._boundaries.phase_ahead)
        asked = process.control.next_step(moment)
        process.tracing.step_begins(self._step)
        wanted = wanted and not process.control.stopped
        unmet = process.standing.unmet(moment) if wanted and process.standing else ""
        wanted = wanted and not unmet
        self._look_back(process)
        affordable = wanted and self._thinning.affords(self._step)
        if affordable or asked:
            self._look_back(process, True)
            process.begin_step(self._step, asked, wanted=affordable)
            process.recorder.live = True
            return
        process.uninstall()
        process.unseen.count(unseen.BUDGET if wanted else unseen.STEP_NOT_WANTED, unmet)
        if wanted and process.left_out:
            process.left_out.begin(self._step)

    def _look_back(self, process: Process, wait: bool = False) -> None:
        if process.left_out:
            self._safely("losses of steps left out", self._thinning.look_back, process.left_out, wait)

    def _end(self) -> None:
        if not self._under_way:
            return
        self._under_way = False
        process = self._process
        try:
            self._write_end(process)
        finally:  # it may raise, as on_nan asks
            self.facts = Facts()
            if process and process.nan_watch and not self._closed:
                process.nan_watch.ended(self._step)

    def _write_end(self, process: Process | None) -> None:
        if process and process.step >= 0:
            process.recorder.live = False
            self._safely("end of a step", process.end_step, self._facts())
            self._tell_unmatched()
        elif process and process.left_out and process.left_out.under_way:
            process.left_out.end(self._facts())
            self._look_back(process)

    def _facts(self) -> Facts:
        return replace(self.facts, phase=self.facts.phase or self._boundaries.phase(), global_step=self._of_trainer)

    def _tell_unmatched(self) -> None:
        for sentence in self._filter.unmatched():
            self._notices.say(sentence)

    def _looks_odd(self, what: str) -> None:
        if self._under_way and self._process:
            self._unseen.count(unseen.ODD_STEP, what)
            self._notices.say(f"steps look wrong: {what} in one; call step() of the tap where a step ends (first seen in step {self._step})")

    def _make(self) -> Process | None:
        self._closed = True  # unless all goes well: what fails now would fail at each forward
        self._process = make(self.settings, self._filter, self._roots, self._unseen, self._notices, self._thinning.clock)
        if self._process:
            self._closed = False
            self._signal.install()
            self._calls.log = self._process.calls
            self._telling.write_with(self._process)
        return self._process

    def _signalled(self) -> None:
        if self._process:
            self._process.control.signal()

    def _is_ours(self, root: nn.Module) -> bool:
        """Whether the call of a root is a step's business: the outermost one, of the thread that computes."""
        frames = self._process.recorder.thread.frames if self._process else []
        return not self._callers.is_nested(root, frames) and self._callers.is_owner(counts=self._process is not None)

    def after_fork(self) -> None:
        """In a child: what was recorded so far is the parent's; the next forward of a root begins anew."""
        process, self._process = self._process, None
        self._telling.write_with(None)
        self._under_way, self._step = False, 0
        self._callers.forget()
        self._calls.after_fork()
        self._unseen.drain()
        if process:
            process.abandon()
