"""Losses of steps that are not recorded: each is looked at, and of one that is not finite the rows are kept."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import torch
from torch import Tensor

from tensortap._record import unseen
from tensortap._record.argument_trees import INPUT, Walker
from tensortap._record.op_names import LOSS, LOSS_END, Op
from tensortap._record.recorder import Recorder
from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._spool.thinned import MOST_ROWS, ROW, matters
from tensortap._stats import streams
from tensortap._stats.deferred import Deferred
from tensortap._stats.measure import Measurer, plain

_Facts = TypeVar("_Facts")
_SEQ: Final = struct.Struct("<I")
_SEQ_AT: Final = layout.TENSOR_SEQ
_MEMORY: Final = ctypes.c_char * (MOST_ROWS * ROW)


class Losses:
    """Of one backward, in rows beside the spool."""

    def __init__(self, op: Op, micro_step: int) -> None:
        self.op, self.micro_step = op, micro_step
        self._memory: list[tuple[Any, int]] = []  # of each tensor, with how many rows

    def add(self, memory: Any, rows: int) -> None:
        """A tensor has so many rows there, or will have."""
        self._memory.append((memory, rows))

    def rows(self, seq: int = 0) -> Iterator[memoryview]:
        """The rows of each tensor, as of the op's seq."""
        for memory, rows in self._memory:
            _SEQ.pack_into(memory, _SEQ_AT, seq)
            yield memoryview(memory).cast("B")[: rows * ROW]

    @property
    def matter(self) -> bool:
        """Whether a value is not finite. To be asked when the rows are there."""
        return any(map(matters, self.rows()))


@dataclass
class Glance(Generic[_Facts]):
    """The losses of one step."""

    step: int
    losses: list[Losses] = field(default_factory=list)
    facts: _Facts | None = None  # what else is known of the step, once it is over


class Glances(Generic[_Facts]):
    """Looks at losses without waiting for a device. To be used under the session's lock, where torch functions are not intercepted."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._walker = Walker(recorder.spool, recorder.names, self, recorder.unseen)
        self._measurer = Measurer(1, sketch=False, digest=False)
        self._under_way: Glance[_Facts] = Glance(-1)
        self._filling: _Pending[_Facts] = _Pending()
        self._sent: _Pending[_Facts] = _Pending()

    def begin(self, step: int) -> None:
        """A step begins that is not recorded."""
        self._recorder.names.step = step
        self._recorder.micro_step = 0
        self._under_way = Glance(step)

    def look(self, losses: Sequence[Tensor]) -> None:
        """A backward begins from these."""
        op = self._recorder.calls(LOSS, LOSS_END).take()
        if op.id:
            self._under_way.losses.append(Losses(op, self._recorder.micro_step))
            self._walker.positional(op, 0, INPUT, losses)

    def tensor(self, tensor: Tensor, site: int, seq: int) -> None:
        """One of the losses that is looked at."""
        number, plan = self._recorder.observer.layout(tensor)
        if not site or not number:
            return
        memory = _MEMORY()
        address = ctypes.addressof(memory)
        if plan is not None:
            rows = plan.run(tensor.data_ptr(), address, site, seq, 0)
        else:
            rows = self._measure(tensor, address, Name(site, number, seq, 0, 0))
        if rows:
            self._under_way.losses[-1].add(memory, rows)

    def take(self, values: tuple[object, ...], sites: list[int], first: int, seq: int) -> int:
        """Each loss by itself."""
        return first

    def unusual(self, tensor: Tensor, site: int, seq: int) -> None:
        """Likewise."""
        self.tensor(tensor, site, seq)

    def end(self, facts: _Facts) -> None:
        """The step is over."""
        self._under_way.facts = facts
        if self._under_way.losses:
            self._filling.glances.append(self._under_way)

    @property
    def waits(self) -> bool:
        """Whether there is a step of which nothing is known yet."""
        return bool(self._sent.glances or self._filling.glances)

    def known(self, *, wait: bool) -> list[Glance[_Facts]]:
        """The steps with a loss that is not finite, in order, as far as devices have said by now; with wait, all."""
        known = self._sent.take(wait=wait)
        if not self._sent.glances:
            self._sent, self._filling = self._filling, self._sent
            self._sent.send()
            known += self._sent.take(wait=wait)
        return [glance for glance in known if any(losses.matter for losses in glance.losses)]

    def forget(self) -> None:
        """In a child: what devices were asked for is the parent's."""
        self._filling.forget()
        self._sent.forget()

    def _measure(self, tensor: Tensor, address: int, name: Name) -> int:
        found = plain(tensor)
        if found is None or not streams.is_asynchronous(found.device):
            return self._measurer.measure(tensor, address, name)
        if found.is_cuda and torch.cuda.is_current_stream_capturing():  # a kernel of ours would run at each replay, too
            self._recorder.unseen.count(unseen.CUDA_GRAPH, "capture")
            return 0
        return self._filling.add(found, address, name) or self._measurer.measure(tensor, address, name)


class _Pending(Generic[_Facts]):
    """Steps some of whose losses may be on their devices."""

    def __init__(self) -> None:
        self.glances: list[Glance[_Facts]] = []
        self._deferred: Deferred | None = None

    def add(self, tensor: Tensor, address: int, name: Name) -> int:
        """Measures a tensor of a device without waiting for it. How many rows it will have; 0 without Triton."""
        try:
            self._deferred = self._deferred or Deferred(sketched=False, digested=False)
        except ImportError:
            return 0
        return self._deferred.add(tensor, address, name)

    def send(self) -> None:
        """Nothing is added until all are taken."""
        if self._deferred is not None:
            self._deferred.send()

    def take(self, *, wait: bool) -> list[Glance[_Facts]]:
        """The steps, when all of them are known."""
        if self._deferred is not None:
            if wait:
                self._deferred.flush()
            else:
                self._deferred.poll()
            if self._deferred.is_waiting:
                return []
        taken, self.glances = self.glances, []
        return taken

    def forget(self) -> None:
        """In a child."""
        if self._deferred is not None:
            self._deferred.forget()
