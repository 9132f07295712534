"""What hooks write through: ops with their values, in order, under one lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch

from tensortap import _torch_compat
from tensortap._config.filters import Filter
from tensortap._config.settings import Settings
from tensortap._record import unseen
from tensortap._record.argument_trees import GRADIENT, INPUT, KWARG, OUTPUT, PARAMETER, Walker
from tensortap._record.call_stacks import Stacks
from tensortap._record.call_rows import CallRows
from tensortap._record.frames import Frame, Thread
from tensortap._record.guard import Guard
from tensortap._record.hears import Hears
from tensortap._record.op_names import Calls, Names, Op
from tensortap._record.own_time import Clock
from tensortap._record.payloads import Payloads
from tensortap._record.raised import Raised
from tensortap._record.tensor_rows import Observer
from tensortap._spool import layout
from tensortap._spool.spool import Spool
from tensortap._stats import streams
from tensortap._stats.measure import Measurer

FORWARD: Final = "forward"
BACKWARD: Final = "backward"


class Recorder(Raised):
    """Writes the ops of one process's tap. `live` says whether anything is recorded now; hooks ask it first."""

    def __init__(self, settings: Settings, wanted: Filter, counts: unseen.Unseen, spool: Spool, clock: Clock | None = None) -> None:
        super().__init__(spool, Names(spool, Stacks(spool, settings.stacks)), settings.post_mortem)
        self.settings, self.filter, self.unseen = settings, wanted, counts
        self.guard = Guard(counts, clock)
        self.lock = threading.RLock()
        self.thread = Thread()
        self.live = False
        self.micro_step = 0
        self.ops = 0
        self.measurer = self._measurer(settings.sketch, settings.digest)
        spool.write_by(self.measurer.writers)
        self.observer = Observer(spool, self.measurer, counts, settings.first_n_per_site)
        if settings.level != "L1":
            self.observer.passed_over = self.names.inside
        self.walker = Walker(spool, self.names, self.observer, counts, self.observer.taker)
        self._rows = CallRows(spool, self.walker, self.observer)
        self._sees_all = wanted.sees_all
        self._payloads: Payloads | None = None
        self.keep_named: Callable[[], Payloads] | None = None  # keeps raw tensors where no one else does
        self.on_nan: Hears | None = None  # where more is asked for than to record them
        self._calls: dict[str, Calls] = {}
        self._wants = {
            (phase, role): settings.task != "structure" and wanted.wants_value(phase, role)
            for phase in (FORWARD, BACKWARD)
            for role in (INPUT, KWARG, PARAMETER, OUTPUT, GRADIENT)
        }
        self.forward = settings.direction != BACKWARD
        self.backward = settings.direction != FORWARD
        self._takes_inputs = self._rows.takes and self.forward and self._wants[FORWARD, INPUT]
        self._takes_outputs = self._rows.takes and self._wants[FORWARD, OUTPUT]
        self.backwards: list[Op] = []  # of modules, under way, where those are taken as msProbe takes them

    def calls(self, begin: str, end: str) -> Calls:
        """The calls whose names begin and end so around the index."""
        found = self._calls.get(begin)
        if found is None:
            found = self._calls[begin] = Calls(self.names, begin, end)
        return found

    def op_under_way(self) -> str:
        """The module's call that this thread is within; empty for none."""
        frames = self.thread.frames
        return frames[-1].op.name if frames else ""

    def begin(self, op: Op, parent: int, path: str, *, wanted: bool, flags: int = 0) -> int:
        """An op begins. Its seq; 0 when it is not recorded."""
        if not wanted or not (self._sees_all or self.filter.wants_op(op.name, path)):
            self.unseen.count(unseen.FILTERED)
            return 0
        self.seq = seq = self.seq + 1
        self.ops += 1
        if self._payloads and self._payloads.every and self.filter.is_meant(path):
            self._payloads.mean(seq, op.name)
        if op.id:
            self.spool.op(op.id, parent, seq, op.stack, self.micro_step, flags)
        else:
            self.spool.dropped += 1
        return seq

    def begin_always(self, op: Op) -> int:
        """An op that is none of the model's begins: a loss, or what a user names. Filters choose among the model's. Its seq."""
        self.seq += 1
        self.ops += 1
        if self._payloads and self._payloads.every and self.filter.is_meant(""):
            self._payloads.mean(self.seq, op.name)
        if op.id:
            self.spool.op(op.id, 0, self.seq, op.stack, self.micro_step, 0)
        else:
            self.spool.dropped += 1
        return self.seq

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is recorded meanwhile, as a model is being captured into a graph."""
        live, self.live = self.live, False
        if live:
            self.unseen.count(unseen.CUDA_GRAPH, "capture")
        try:
            yield
        finally:
            self.live = live

    def widen(self, scope: Iterable[str], records: str | None) -> None:
        """Record all within these modules, too; as the filter says."""
        self.filter.widen(scope, records)
        self._sees_all = self.filter.sees_all

    def keep_with(self, payloads: Payloads | None) -> None:
        """Keep raw tensors with this from here on, if with any."""
        self._payloads = payloads
        self.walker.show(payloads or self.observer)

    def keep(self, op: Op, seq: int) -> None:
        """Keep the raw tensors of an op that began, whoever keeps others."""
        payloads = self._payloads or (self.keep_named() if self.keep_named else None)
        if payloads:
            payloads.mean(seq, op.name)

    def keeps(self, seq: int) -> bool:
        """Whether the raw tensors of that op are kept, as far as there is room."""
        return self._payloads is not None and self._payloads.means(seq)

    def measure_with(self, sketch: bool, digest: bool) -> None:
        """Measure so from here on; between steps. What is pending is waited for."""
        self.complete_rows()
        self.measurer = self._measurer(sketch, digest)
        self.observer.measure_with(self.measurer)

    def send_rows(self, wait: bool) -> None:
        """A step ends: rows on devices begin to come to the host, and what has come is written; or all is, after a wait."""
        try:
            if wait:
                self.measurer.flush()
            else:
                self.measurer.send()
        finally:
            self._note_overflow()

    def complete_rows(self) -> None:
        """Write the rows of all that is still on devices, when they are done with it."""
        with self.lock:
            try:
                self.measurer.flush()
            except RuntimeError as error:  # from torch, of a device that failed: the rows say so
                self.guard.caught("rows of a device", error)
            self._note_overflow()

    def read_late_rows(self) -> None:
        """Write what has come from devices, though no step may end for long. For a thread of ours; it waits for nobody."""
        if self.measurer.is_waiting and streams.ask_beside_captures() and self.lock.acquire(blocking=False):
            try:
                self.measurer.poll()
            finally:
                self._note_overflow()
                self.lock.release()

    def _note_overflow(self) -> None:
        self.observer.overflowed |= bool(self.measurer.overflowed - self.observer.passed_over)

    def _measurer(self, sketch: bool, digest: bool) -> Measurer:
        threads = self.settings.threads or torch.get_num_threads()
        return Measurer(threads, sketch, digest, crc32=self.settings.task == "md5")

    def backward_parent(self) -> int:
        """The backward within which one begins now, as msProbe sees it: of a module that began and is not complete."""
        return self.backwards[-1].id if self.backwards else 0

    def end(self, op: Op, parent: int, seq: int) -> None:
        """An op that was opened is complete."""
        if op.id:
            self.spool.op(op.id, parent, seq, op.stack, self.micro_step, layout.OP_ENDS)

    def inputs(self, op: Op, seq: int, args: Iterable[object], kwargs: Mapping[str, object] | None, function: object = None) -> None:
        """What a forward op is given; the function is that of an API."""
        if self._wants[FORWARD, INPUT] and op.id:
            self.walker.positional(op, seq, INPUT, args)
            if kwargs:
                self.walker.named(op, seq, KWARG, kwargs)
        if self.on_nan is not None:
            self.on_nan.given(op, seq, args, kwargs, function)

    def opens(
        self, op: Op, parent: int, path: str, args: Iterable[object], kwargs: Mapping[str, object], *, frame: Frame | None = None, function: object = None
    ) -> int:
        """A forward op begins with what it is given; begin and inputs at once. With the frame of a module's call, which gets to know its seq."""
        flags = layout.OP_OPENS if frame else 0
        if self.told.known:
            self.told.go_on()
        if self._takes_inputs and op.id and self._sees_all and self._payloads is None and self.on_nan is None:
            self.seq = seq = self.seq + 1
            self.ops += 1
            if frame:
                frame.seq = seq
            if self._rows.opens(op, parent, seq, self.micro_step, flags, args if type(args) is tuple else tuple(args)):
                if kwargs:
                    self.walker.named(op, seq, KWARG, kwargs)
                return seq
            self.seq -= 1
            self.ops -= 1
        seq = self.begin(op, parent, path, wanted=self.forward, flags=flags)
        if frame:
            frame.seq = seq
        if seq:
            self.inputs(op, seq, args, kwargs, function)
        return seq

    def closes(self, op: Op, parent: int, seq: int, module: torch.nn.Module, result: object) -> None:
        """A module's call that was opened has returned; parameters, outputs and end at once."""
        if module._parameters:
            self.parameters(op, seq, module)
        if self._takes_outputs and op.id and self._payloads is None and self.on_nan is None:
            if self._rows.closes(op, parent, seq, self.micro_step, result if type(result) is tuple else (result,)):
                return
        else:
            self.outputs(op, seq, result)
        self.end(op, parent, seq)

    def outputs(self, op: Op, seq: int, result: object) -> None:
        """What a forward op returns."""
        if self._wants[FORWARD, OUTPUT] and op.id:
            self.walker.positional(op, seq, OUTPUT, result if type(result) is tuple else (result,))
        if self.on_nan is not None:
            self.on_nan.made(op, seq, result)

    def parameters(self, op: Op, seq: int, module: torch.nn.Module) -> None:
        """The module's own parameters."""
        if self._wants[FORWARD, PARAMETER] and op.id:
            named = {name: parameter for name, parameter in module._parameters.items() if parameter is not None}
            self.walker.named(op, seq, PARAMETER, named)

    def gradients(self, op: Op, parent: int, path: str, given: Iterable[object] | None, made: Iterable[object] | None) -> None:
        """A backward op is complete, with the gradients that it was given and those that it made."""
        self.backward_values(op, self.begin(op, parent, path, wanted=True), given, made)

    def backward_values(self, op: Op, seq: int, given: Iterable[object] | None, made: Iterable[object] | None) -> None:
        """Gradients that a backward op was given and made, as far as they are known now."""
        if seq and op.id:
            if given is not None and self._wants[BACKWARD, INPUT]:
                self.walker.positional(op, seq, INPUT, given)
            if made is not None and self._wants[BACKWARD, OUTPUT]:
                self.walker.positional(op, seq, OUTPUT, made)
            if self.on_nan is not None:
                self.on_nan.gradients(op, seq, given, made)

    def given(self, op: Op, seq: int, path: str, gradient: torch.Tensor | None) -> None:
        """The gradient of a module's output."""
        if seq and op.id and self._wants[BACKWARD, INPUT]:
            self.walker.one(op, seq, INPUT, path, gradient)
            if self.on_nan is not None:
                self.on_nan.gradient_of_output(op, seq, path, gradient)

    def gradient(self, op: Op, seq: int, name: str, gradient: torch.Tensor) -> None:
        """The gradient of a parameter."""
        if seq and op.id and self._wants[BACKWARD, GRADIENT]:
            self.walker.one(op, seq, GRADIENT, name, gradient)
            if self.on_nan is not None:
                self.on_nan.gradient_of_parameter(op, seq, name, gradient)


def backward_run() -> int:
    """Which run of autograd's engine calls a hook: a graph may be run several times, and each has a number of its own."""
    return _torch_compat.current_graph_task_id()

