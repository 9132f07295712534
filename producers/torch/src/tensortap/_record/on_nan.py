"""The first op that makes a value that is not finite of values that are: it is found, kept, told, and raised, as was asked."""

from __future__ import annotations

import gc
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

import torch
from torch import Tensor

from tensortap._record.argument_trees import INPUT, KWARG, OUTPUT
from tensortap._record.finite import bad_rows, not_finite, plain_or_none, told
from tensortap._record.held_calls import Call, HeldCalls, Place
from tensortap._record.kept_calls import KeptCall, places
from tensortap._record.nan_gradients import Backward, Gradients, Values
from tensortap._record.not_finite import NotFinite
from tensortap._record.op_names import LOSS, Op

if TYPE_CHECKING:
    from tensortap._record.recorder import Recorder

TYPE: Final = "not finite"  # of the failure that tells of it, where nothing is raised
# Memory that nobody wrote yet, and what the call overwrites: analysis/judge has the same.
_EXCUSED: Final = re.compile(
    r"\.(empty\w*|new_empty\w*|resize_\w*|copy_|fill_|zero_|normal_|uniform_|random_|full|full_like|new_full|masked_fill_?|recv|irecv|broadcast|scatter|all_\w+|_?all_gather_base|reduce_scatter\w*|gather)\.\d+\."
)
_MODULE: Final = "Module."
_MOST_SUSPECTS: Final = 1 << 12


class OnNan:
    """Hears of each op and its values. To be called under the session's lock, where nothing is intercepted."""

    def __init__(self, recorder: Recorder, say: Callable[[str], None]) -> None:
        settings = recorder.settings
        self._recorder, self._say = recorder, say
        self._keeps, self._raises = "keep" in settings.on_nan, "raise" in settings.on_nan
        self._root = settings.kept_in
        self._bad: dict[int, set[int]] = recorder.observer.watch_values()
        self.calls = HeldCalls(settings.on_nan_bytes)
        self.backward = Backward(self.calls, self._bad, self._found_backward)
        self._suspects: deque[Call] = deque(maxlen=_MOST_SUSPECTS)  # of this step, with what they made as long as that is held
        self._is_done = False
        self._scaler: ref[Any] | None = None
        self._is_scaled: bool | None = None  # whether losses are, in this step; None: not looked at yet
        self.stop: Callable[[str], str] = lambda _: ""  # asks for the end of the run; says when that will be
        self.served: Callable[[], Sequence[tuple[str, int | None, int]]] = tuple  # requests of the step: name, first row, rows

    @property
    def watches(self) -> bool:
        """Whether anything is still to be heard: only the first time counts."""
        return not self._is_done

    @property
    def _late(self) -> bool:
        """Whether numbers come after their ops, from a device."""
        return self._recorder.measurer.is_late

    def begin_step(self) -> None:
        """A step begins."""
        self._forget()
        self._is_scaled = None

    def given(self, op: Op, seq: int, args: Any, kwargs: Mapping[str, Any] | None, function: Any) -> None:
        """An op is given that, and is about to run."""
        if self._is_done:
            return
        frames = self._recorder.thread.frames
        frame = frames[-1] if frames else None
        is_module = frame is not None and frame.op is op
        call = Call(op, seq, frame.path if frame else "", frame.module if frame and is_module else function, len(frames) > is_module)
        if self._keeps:
            self.calls.hold(call, args, kwargs)
        else:
            self.calls.add(call)

    def made(self, op: Op, seq: int, result: Any) -> None:
        """It has made that."""
        if self._is_done:
            return
        call = self.calls.get(seq)
        if seq in self._bad:
            call = call or Call(op, seq, "", None, False)
            call.holds_result(result)
            self._judge(call, self._bad.pop(seq))
            if not self._is_done:
                self.calls.complete(call)
        elif call and (self._late or call.with_gradients):
            if self._late:
                call.holds_result(result)
            self.calls.complete(call)
        elif call:
            self.calls.drop(call)

    def loss(self, op: Op, seq: int, losses: Iterable[Any]) -> None:
        """Backward begins from that, which functions outside of any module may have made."""
        if self._is_done:
            return
        call = Call(op, seq, "", None, False)
        call.args, call.inputs_are_bad = tuple(losses), True
        self.calls.add(call)
        self.calls.complete(call)
        self.backward.is_late = self._late
        if seq in self._bad:
            self._judge(call, self._bad.pop(seq))

    def gradient_of_output(self, op: Op, seq: int, place: str, gradient: Tensor | None) -> None:
        """A module's backward is given that."""
        if not self._is_done:
            self.backward.of_output(op, seq, place, gradient)

    def gradient_of_parameter(self, op: Op, seq: int, name: str, gradient: Tensor) -> None:
        """It has come."""
        if not self._is_done:
            self.backward.of_parameter(op, seq, name, gradient)

    def gradients(self, op: Op, seq: int, given: Iterable[object] | None, made: Iterable[object] | None) -> None:
        """A backward op was given, and made, as far as it is known now."""
        if not self._is_done:
            passed_over = self._recorder.observer.passed_over
            self.backward.of_op(op, seq, given, made, any(site in passed_over for site in op.sites.values()))

    def _scales(self) -> bool:
        """Whether a scaler is at work: gradients that overflow are no fault then, as it skips their step. Asked where one did."""
        if self._is_scaled is None:
            if self._scaler is None or self._scaler() is None:
                found = next((one for one in gc.get_objects() if issubclass(type(one), torch.amp.GradScaler) and one.is_enabled()), None)
                self._scaler = ref(found) if found is not None else None
            self._is_scaled = self._scaler is not None
        return self._is_scaled

    def settle(self) -> None:
        """The numbers of all that ran on a device have come."""
        for call in self.calls.completed() if self._bad else ():
            if call.seq in self._bad and not self._is_done:
                self._judge(call, self._bad.pop(call.seq))
        if not self._is_done:
            self.backward.settle()
        self._bad.clear()

    def end_step(self) -> None:
        """The step is over, and its numbers have come."""
        if self._late:
            self.settle()
        self._forget()

    def _forget(self) -> None:
        self._bad.clear()
        self.calls.forget()
        self.backward.forget()
        self._suspects.clear()

    def _judge(self, call: Call, sites: set[int]) -> None:
        """Whether that call is the one, as far as it is known when it is complete."""
        found = places(call.op, sites)
        if call.op.name.startswith(LOSS):
            if not self._scales():
                self._found(self._origin(call), found)
            return
        made = [place for place in found if place[0] == OUTPUT]
        call.inputs_are_bad = any(role in (INPUT, KWARG) for role, _ in found)
        if not made:
            return
        self._suspects.append(call)
        is_module = call.op.name.startswith(_MODULE)
        if call.inputs_are_bad and (not is_module or call.is_inside):
            return  # who made it was heard before; or code of the module around, which is not complete
        if not is_module and (sites & self._recorder.observer.passed_over or _EXCUSED.search(call.op.name)):
            return
        self._found(self._origin(call), made)

    def _origin(self, call: Call) -> Call:
        """The call that made what came out of a module, or what an op was given: back from one to the other by their tensors."""
        wanted = _storages(call, (INPUT, KWARG) if call.inputs_are_bad else (OUTPUT,))
        found = None
        for other in reversed([suspect for suspect in self._suspects if suspect is not call]):
            if wanted & _storages(other, (OUTPUT,)):
                found = other
                if not other.inputs_are_bad:
                    return other
                wanted = _storages(other, (INPUT, KWARG))
        inside = (one for one in self._suspects if one.seq > call.seq and not one.inputs_are_bad and not _EXCUSED.search(one.op.name))
        return next(inside, found if found and call.inputs_are_bad else call)

    def _found(self, call: Call, made: Sequence[Place]) -> None:
        values = [(place, tensor) for place, tensor in call.tensors() if (place[0] == OUTPUT) is not call.inputs_are_bad and not_finite(tensor)]
        what = "; ".join(told(" ".join(place), tensor) for place, tensor in values) or f"not finite in {', '.join(' '.join(place) for place in made)}"
        what += self._requests([tensor for _, tensor in values])
        if call.inputs_are_bad:
            what += "; no op that is recorded made it: it came with the data, or from code between ops, which level mix records"
        self._conclude(call, what, {})

    def _found_backward(self, call: Call, values: Values, gradients: Gradients) -> None:
        if self._is_done or self._scales():
            return
        what = "; ".join(told(what, tensor) for what, tensor in values if not_finite(tensor)) or "a gradient is not finite"
        lost = "" if gradients or not self._keeps else "; the gradients that it was given are not held on a device" if self._late else "; the gradients that it was given are not known"
        self._conclude(call, f"{what}, which its backward made, or code between ops{lost}", gradients)

    def _conclude(self, call: Call, what: str, gradients: Gradients) -> None:
        self._is_done = True
        try:
            weights = [name for name, weight in call.module.named_parameters() if not_finite(weight)] if call.module else []
            if weights:
                what += f"; its parameter {', '.join(weights)} is not finite already"
            if self._keeps:
                what += "; " + self._kept(call, what, gradients)
        except Exception as error:  # as in Guard: whatever becomes of the files, it is told, and the run ends
            what += f"; nothing is kept of it: {type(error).__name__}: {error}"
            self._recorder.guard.caught("the op that is kept", error)
        what += self.stop(what)
        self._tell(call, what)

    def _kept(self, call: Call, what: str, gradients: Gradients) -> str:
        recorder = self._recorder
        if call.is_let_go or not call.held and not call.args and call.seq not in (one.seq for one in self._suspects):
            return f"its inputs are no longer held: {self.calls.let_go} calls were let go of beyond {recorder.settings.on_nan_bytes} bytes (on_nan_bytes)"
        kept = KeptCall(recorder.spool, recorder.names, self._root, recorder.names.step, call, has_rows=recorder.keeps(call.seq))
        about = {"sentence": f"step {recorder.names.step}, op {call.op.name}{_of(call.path)}: {what}", "op": call.op.name, "step": recorder.names.step}
        about |= {"path": call.path, "run": recorder.settings.run, "requests": [name for name, _, _ in self.served()], "stack": recorder.names.stacks.frames(call.op.stack)}
        try:
            program = kept.write(about, gradients)
        except OSError as error:
            return f"nothing is kept of it: {error}"
        lost = f"; not kept: {'; '.join(kept.lost)}" if kept.lost else ""
        if call.function is None:
            return f"{kept.count} tensors are kept, as {program.with_name('about.json')} says{lost}"
        return f"{kept.count} tensors are kept; to repeat the op: python {program}{lost}"

    def _tell(self, call: Call, what: str) -> None:
        recorder = self._recorder
        self._say(f"step {recorder.names.step}, op {call.op.name}{_of(call.path)}: {what}")
        error = NotFinite(what)
        kind = f"tensortap.{type(error).__name__}" if self._raises else TYPE
        recorder.not_finite(call.op, call.seq, call.path, kind, what, error)
        self._forget()
        if self._raises:
            raise error

    def _requests(self, values: Sequence[Tensor]) -> str:
        """Whose rows they are, where that is known; else whose step it is."""
        served = self.served()
        if not served:
            return ""
        rows = {row for tensor in values for row in bad_rows(tensor)}
        whose = [name for name, first, count in served if first is not None and rows & set(range(first, first + count))]
        return f"; of request {', '.join(whose)}" if whose else f"; in a step of requests {', '.join(name for name, _, _ in served)}"


def _of(path: str) -> str:
    return f" of module {path}" if path else ""


def _storages(call: Call, roles: Sequence[str]) -> set[int]:
    """Where the values lie of these roles that are not finite."""
    bad = (plain_or_none(tensor) for (role, _), tensor in call.tensors() if role in roles and not_finite(tensor))
    return {found.untyped_storage().data_ptr() for found in bad if found is not None}
