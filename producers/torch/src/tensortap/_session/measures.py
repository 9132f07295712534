"""The latest loss and the memory in use, for conditions: looked at only once one asks, without waiting for a device."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from tensortap import _torch_compat
from tensortap._health.memory import Memory, Reader
from tensortap._hooks.losses import LossWatch
from tensortap._record.guard import Guard
from tensortap._stats.leaving import leave
from tensortap._stats.measure import plain

OF_MEMORY: Final = frozenset(("memory", "host-memory"))
_MOST_WAITING: Final = 256  # losses that are on their way from a device


class InUse(NamedTuple):
    """Bytes: the most that a device of the model had since the step before began, or without any the process; and the process."""

    most: int
    host: int


class Measures:
    """Of one process. After a fork a child makes its own."""

    def __init__(self, models: Iterable[nn.Module], guard: Guard) -> None:
        self._models = models
        self._losses = Losses(guard)
        self._memory: Reader | None = None
        self._watched = 0  # models
        self._read: tuple[int, InUse] = (-1, InUse(0, 0))

    def need(self, words: frozenset[str]) -> None:
        """Look from here on at what these conditions are about."""
        if "loss" in words:
            self._losses.install()
        if not words.isdisjoint(OF_MEMORY) and self._memory is None:
            self._memory = Reader()

    def loss(self, step: int) -> float | None:
        """The greatest loss of the latest step that has one and whose loss is known as this step begins; None: there is none."""
        return self._losses.latest(step)

    def memory(self, step: int) -> InUse:
        """What is in use as this step begins."""
        if self._memory is not None and self._read[0] != step:
            self._watch(self._memory)
            self._read = step, _most(self._memory.after_module())
            self._memory.begin_step()
        return self._read[1]

    def close(self) -> None:
        """Look at nothing any more."""
        self._losses.remove()
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def forget(self) -> None:
        """In a child: what is on its way is the parent's."""
        self._losses.forget()
        self.close()

    def _watch(self, memory: Reader) -> None:
        models = sum(1 for _ in self._models)
        if models != self._watched:
            self._watched = models
            memory.watch({parameter.device for model in self._models for parameter in model.parameters()})


def _most(readings: Sequence[Memory]) -> InUse:
    host = readings[0].host_resident_bytes
    return InUse(max(host if reading.device == "cpu" else reading.peak_bytes for reading in readings), host)


def greater(one: float | None, other: float) -> float:
    """The greater of two; NaN, which shows that something is wrong, is greater than any."""
    return other if one is None or math.isnan(other) or other > one else one


class Losses:
    """What backwards begin from, by step."""

    def __init__(self, guard: Guard) -> None:
        self._watch = LossWatch(guard, self._look)
        self._installed = False
        self._turn = 0  # raised as a step begins
        self._step = -1
        self._latest: tuple[int, float | None] = (-1, None)  # the turn, and the greatest of it
        self._waiting: deque[tuple[int, Callable[[], bool], Tensor]] = deque()

    def install(self) -> None:
        """Hear of them."""
        if not self._installed:
            self._installed = True
            self._watch.install()

    def remove(self) -> None:
        """Hear of no more."""
        if self._installed:
            self._installed = False
            self._watch.remove()
        self._waiting.clear()

    def forget(self) -> None:
        """In a child: no loss that is on its way is freed."""
        leave(self._waiting)
        self._waiting = deque()

    def latest(self, step: int) -> float | None:
        """As this step begins."""
        while self._waiting and self._waiting[0][1]():
            turn, _, value = self._waiting.popleft()
            self._note(turn, float(value))
        if step != self._step:
            self._step, self._turn = step, self._turn + 1
        return self._latest[1]

    def expect(self, has_come: Callable[[], bool], value: Tensor) -> None:
        """A loss of the step under way is on its way to the host."""
        self._waiting.append((self._turn, has_come, value))

    def _look(self, losses: Sequence[Tensor]) -> None:
        with _torch_compat.DisableTorchDispatch():
            for loss in losses:
                found = plain(loss)
                if found is not None and found.numel() and not found.is_complex():
                    self._take(found.max() if found.numel() > 1 else found.reshape(()))

    def _take(self, loss: Tensor) -> None:
        if loss.device.type == "cpu":
            self._note(self._turn, float(loss))
        elif loss.is_cuda and len(self._waiting) < _MOST_WAITING and not torch.cuda.is_current_stream_capturing():
            host = torch.empty((), dtype=loss.dtype, pin_memory=True)
            host.copy_(loss, non_blocking=True)
            event: Any = torch.cuda.Event()
            event.record(torch.cuda.current_stream(loss.device))
            self.expect(event.query, host)

    def _note(self, turn: int, value: float) -> None:
        before = self._latest[1] if self._latest[0] == turn else None
        self._latest = turn, greater(before, value)
