"""One tap: armed on the roots of models, it records the steps that are wanted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from torch import nn

from tensortap._config.filters import Filter
from tensortap._config.settings import Settings
from tensortap._hooks.collective_calls import CollectiveCalls
from tensortap._record import unseen
from tensortap._record.guard import Guard
from tensortap._record.model_roots import FoundRoots, Models, Roots
from tensortap._record.sampled_tokens import SampledTokens
from tensortap._record.served_requests import Request
from tensortap._record.token_sites import ServedTokens
from tensortap._session import forks
from tensortap._session.armed import Handle
from tensortap._session.ending import Ending
from tensortap._session.forwards import Forwards
from tensortap._session.given import Given
from tensortap._session.making import make
from tensortap._session.notices import Notices
from tensortap._session.presence import Presence
from tensortap._session.recording import Process
from tensortap._session.step_boundaries import Boundaries, Facts
from tensortap._session.stepping import Stepping
from tensortap._session.thinning import Thinning
from tensortap._spool.folder import make_root

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
        self._roots = models if isinstance(models, FoundRoots) else Roots(models)
        self._unseen, self._notices = unseen.Unseen(), Notices()
        self._thinning = Thinning(settings.budget, self._notices)
        self._guard = Guard(self._unseen, self._thinning.clock)
        self._filter = Filter(settings)
        self._boundaries = Boundaries(self._roots, self._guard, self._looks_odd)
        self._steps = Stepping(
            self._filter, self._boundaries, self._thinning, self._guard, self._notices, make=self._make, made=lambda process: self._presence.recorded_by(process)
        )
        self._given = Given(self._steps, self._unseen, self._boundaries.explicit)
        self._forwards = Forwards(
            self._roots, self._steps, self._boundaries, self._guard, self._unseen, automatic=automatic, begin=forwards_begin
        )
        self._presence = Presence(
            settings, self._guard, calls, paused=self._paused, signalled=self._signalled, save=self._save_of_program, served=lambda: self.facts.served
        )
        self._ending = Ending(self._program_ends)
        self._is_undone = False
        forks.hear_of(self)
        if settings.enabled:
            self._forwards.arm()
        else:
            self.close()

    @property
    def facts(self) -> Facts:
        """Of the step under way, as far as the application tells."""
        return self._steps.facts

    @facts.setter
    def facts(self, facts: Facts) -> None:
        self._steps.facts = facts

    def ahead(self, facts: Facts | None) -> None:
        """Of a step that the call which is coming would begin; None: there is none that is known."""
        self._steps.facts_ahead = facts

    def prepare(self) -> None:
        """Make the recording now, and not as the first step begins: who asks this process finds it."""
        self._guard.do("the recording", self._steps.prepare)

    def start(self, models: Models | None = None) -> None:
        """Record from here on, in the step under way or a new one."""
        self._guard.do("start", self._start, models)

    def stop(self) -> None:
        """Record nothing until start; the step stays under way."""
        self._guard.do("stop", self._stop)

    def step(self) -> None:
        """The step under way ends here. The next begins at start, or at the next forward."""
        self._guard.do("step", self._end_explicitly)

    def rest(self) -> None:
        """The step under way ends here, if one is. What is called next begins one, and steps after that end as ever."""
        self._guard.do("the end of a request", self._steps.rest)

    def trainer_begins(self, global_step: int, phase: str = "") -> None:
        """A trainer begins a step of its own, which holds all until trainer_ends: after so many optimizer steps, maybe of a phase."""
        self._guard.do("a trainer's step", self._turn, global_step, phase, True)

    def trainer_ends(self, global_step: int) -> None:
        """The trainer's step is over, after so many optimizer steps. What is called before its next one is as without a trainer."""
        self._guard.do("a trainer's step", self._turn, global_step, "", False)

    def save(self, value: object, name: str, gradient: bool = True, keep: bool = False) -> None:
        """Record a value under a name, in the step under way or a new one, and the gradients of its tensors when they come.

        With `keep`, as with the task `tensor`, the tensors themselves are written into files.
        """
        self._guard.do("save", self._given.save, value, name, gradient, keep)

    def found(self, root: nn.Module) -> None:
        """A model, or more in it than there was before, is met in its call: it is recorded from here on."""
        self._guard.do("a model", self._take, root)

    def forward_begins(self, root: nn.Module) -> None:
        """A root is being called, and was when the tap on it was made."""
        self._guard.do("forward", self._forwards.begins, root, ())

    def is_led_by(self, root: nn.Module) -> bool:
        """Whether the step under way began with this root."""
        return self._boundaries.is_led_by(self._roots.place(root))

    def count(self, reason: str, subject: str) -> None:
        """Something that this tap cannot see was met."""
        self._unseen.count(reason, subject)

    def serve(self, served: Sequence[Request]) -> None:
        """The step under way serves parts of these requests."""
        self._guard.do("serve", self._given.serve, served)

    def tokens(self, **said: Unpack[SampledTokens]) -> None:
        """Record tokens of a sequence with their log-probabilities. Waits for no device. `tensortap.SampledTokens` documents what it takes."""
        self._guard.do("tokens", self._given.tokens, said)

    def weights(self, version: int) -> None:
        """The weights are those of the trainer's update of that number: each parameter's checksum is recorded. Reads them all, up to a limit."""
        self._guard.do("weights", self._given.weights, version)

    def sequences(self, *told: ServedTokens) -> None:
        """What is called next is a step of these tokens; one that is under way ends. `tensortap.ServedTokens` documents them."""
        self._guard.do("sequences", self._steps.expect, told)

    def pad(self, rows: int, tokens: int) -> None:
        """In the step under way, tensors of so many rows hold so many tokens, and then padding."""
        self._given.pad(rows, tokens)

    def hook(self, place: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as a hook that raises nothing, whose errors are counted."""
        return self._guard.hook(place, function)

    def undo_too(self, handle: Handle) -> None:
        """Undo this registration with all else when the tap ends; at once where it has ended."""
        if self.is_closed:
            handle.remove()
        else:
            self._forwards.undo_too(handle)

    def number_from(self, step: int) -> None:
        """The step under way, or else the next, has this number."""
        self._steps.number = step

    @property
    def has_models(self) -> bool:
        """Whether any model was given yet."""
        return any(True for _ in self._roots)

    @property
    def is_closed(self) -> bool:
        """Whether nothing will be recorded any more."""
        return self._steps.is_over

    def close(self) -> None:
        """End the step and undo everything. May be called twice."""
        self._guard.do("close", self._close)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: object, exception: BaseException | None, trace: object) -> None:
        self._guard.do("an exception", self._raised, exception)
        self.close()

    def _program_ends(self) -> None:
        """Python tells here of the exception that ended the program; where a person types, of the last one that they saw."""
        if not hasattr(sys, "ps1"):
            self._guard.do("an exception", self._raised, getattr(sys, "last_value", None))
        self.close()

    def _raised(self, exception: BaseException | None) -> None:
        process = self._steps.process
        if exception is not None and process and not self.is_closed:
            with process.recorder.lock:
                process.recorder.raised(exception)

    def _start(self, models: Models | None) -> None:
        if self.is_closed:
            return
        steps, process = self._steps, self._steps.process
        if models is not None and self._forwards.attach([models] if isinstance(models, nn.Module) else list(models)) and process:
            process.uninstall()  # what is put in place below is in the further models, too
        self._forwards.explicit()
        if not steps.is_under_way:
            steps.begin()
        elif process and process.is_in_step:
            process.install()
            process.recorder.live = True
        elif process and process.left_out:
            process.left_out.resume()

    def _stop(self) -> None:
        self._forwards.is_on = False
        if self._steps.process:
            self._steps.process.uninstall()

    def _save_of_program(self, value: object, name: str) -> None:
        self._guard.do("save", self._given.save_within_step, value, name, self._forwards.may_begin)

    def _end_explicitly(self) -> None:
        self._boundaries.explicit()
        self._steps.end_and_count()

    def _turn(self, global_step: int, phase: str, begins: bool) -> None:
        if self.is_closed:
            return
        self._boundaries.explicit(begins)
        if self._steps.is_under_way:
            self._steps.end_and_count()
        self._steps.global_step = global_step
        self.facts = Facts(phase=phase)
        if begins and self._forwards.is_on:
            self._forwards.take_over()
            self._steps.begin()

    def _close(self) -> None:
        if self._is_undone:
            return
        self._is_undone = self._steps.is_over = True
        with ExitStack() as ending:  # the last first, each though others raised, as on_nan may ask for
            ending.callback(self._boundaries.close)  # below what the recording has put over it
            ending.callback(self._presence.end)
            ending.callback(self._end_recording)
            ending.callback(self._forwards.remove)
            ending.callback(self._presence.hush)
            ending.callback(self._steps.end)
            ending.callback(self._ending.forget)

    def _end_recording(self) -> None:
        process = self._steps.process
        if process is None:
            return
        self._steps.look_back(wait=True)
        self._steps.tell_unmatched()
        process.close()
        self._steps.process = None

    def _take(self, root: nn.Module) -> None:
        if self._is_undone:
            return
        self._forwards.attach([root])
        if self._steps.process:
            self._steps.process.take(root)

    def _looks_odd(self, what: str) -> None:
        if self._steps.is_under_way and self._steps.process:
            self._unseen.count(unseen.ODD_STEP, what)
            self._notices.say(f"steps look wrong: {what} in one; call step() of the tap where a step ends (first seen in step {self._steps.number})")

    def _make(self) -> Process | None:
        return make(self.settings, self._filter, self._roots, self._unseen, self._notices, self._thinning.clock)

    def _paused(self) -> AbstractContextManager[object]:
        return self._steps.process.recorder.paused() if self._steps.process else nullcontext()

    def _signalled(self) -> None:
        if self._steps.process:
            self._steps.process.demands.control.signal()

    def after_fork(self) -> None:
        """In a child: what was recorded so far is the parent's; the next forward of a root begins anew."""
        self._presence.after_fork()
        self._forwards.after_fork()
        self._unseen.drain()
        self._steps.after_fork()
