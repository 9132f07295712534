"""What the memory of a process is for, at the end of some steps: weights, gradients, states of optimizers, KV cache, the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from torch import Tensor, nn

from tensortap._health.memory import Component, Memory
from tensortap._health.pace import Pace
from tensortap._health.storages import Storages
from tensortap._hooks.stepped_optimizers import SteppedOptimizers
from tensortap._hooks.weight_updates import weights_of
from tensortap._record.guard import Guard, unintercepted

KV: Final = "kv"
Bytes = Mapping[str, int]  # by device
ReadKv = Callable[[], Iterable[Component]]

_WEIGHTS: Final = ("weights", "parameters and buffers of the models")
_GRADIENTS: Final = ("gradients", "gradients of parameters, before the first optimizer steps or at the end, whichever is more")
_OPTIMIZER: Final = ("optimizer", "states of optimizers that have stepped, and weights that only they have")
_ACTIVATIONS: Final = ("activations", "peak of the step less what is left at its end")
_OTHER: Final = ("other", "allocated at the end of the step less the rest")
_OTHER_OF_HOST: Final = ("other", "resident set less the rest")


class MemoryComponents:
    """Of one process. Looks take half a percent of its time at most, and wait for no device."""

    def __init__(self, models: Iterable[nn.Module], guard: Guard) -> None:
        self._models = models
        self._stepped = SteppedOptimizers(guard, self._optimizer_steps)
        self._pace = Pace()
        self._looks = False  # in the step under way
        self._before: Bytes | None = None  # gradients as the first optimizer was about to step
        self._cost_ns = 0

    def begin_step(self) -> None:
        """A step begins that is recorded."""
        self._looks = self._pace.is_due()
        self._before, self._cost_ns = None, 0
        self._stepped.install()

    def end_step(self, readings: Sequence[Memory], read_kv: ReadKv) -> list[Component]:
        """What is known as it ends, where that is looked at."""
        if not self._looks:
            return []
        self._looks = False
        with self._timed():
            found = self._found(readings, read_kv)
        self._pace.took(self._cost_ns, time.monotonic_ns())
        return found

    def rest(self) -> None:
        """Hear of no optimizer until a step begins."""
        self._stepped.remove()

    def _optimizer_steps(self) -> None:
        if self._looks and self._before is None:
            with self._timed():
                self._before = self._gradients(Storages())

    def _found(self, readings: Sequence[Memory], read_kv: ReadKv) -> list[Component]:
        met = Storages()
        weights, gradients = met.new_bytes(self._weights()), self._gradients(met)
        states = met.new_bytes(self._states())
        kv = list(read_kv())
        rests = [weights, gradients, states, {one.device: one.reserved_bytes or 0 for one in kv}]
        found = [*_rows(_WEIGHTS, weights), *_rows(_GRADIENTS, _greater(self._before or {}, gradients)), *_rows(_OPTIMIZER, states), *kv]
        for reading in readings:
            found += _of_reading(reading, sum(rest.get(reading.device, 0) for rest in rests))
        return found

    def _weights(self) -> Iterator[Tensor]:
        for model in self._models:
            for module in model.modules():
                for held in (module._parameters, module._buffers):
                    yield from (tensor for tensor in held.values() if tensor is not None)

    def _gradients(self, met: Storages) -> Bytes:
        trained = {id(weight): weight for weight in self._trained()}
        return met.new_bytes(gradient for weight in trained.values() for gradient in _gradients_of(weight))

    def _trained(self) -> Iterator[Tensor]:
        for model in self._models:
            yield from model.parameters()
        for optimizer in list(self._stepped.optimizers):
            yield from weights_of(optimizer)

    def _states(self) -> Iterator[object]:
        for optimizer in list(self._stepped.optimizers):
            yield from optimizer.state.values()
            yield from weights_of(optimizer)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        before = time.thread_time_ns()
        with unintercepted():
            yield
        self._cost_ns += time.thread_time_ns() - before


def _gradients_of(weight: Tensor) -> Iterator[Tensor]:
    """Its own, and the one in a buffer that Megatron keeps for the sum of several backwards."""
    for gradient in (weight.grad if weight.is_leaf else None, weight.__dict__.get("main_grad")):
        if isinstance(gradient, Tensor):
            yield gradient


def _rows(what: tuple[str, str], found: Bytes) -> list[Component]:
    name, basis = what
    return [Component(name=name, basis=basis, device=device, allocated_bytes=held) for device, held in found.items()]


def _greater(one: Bytes, other: Bytes) -> Bytes:
    return {device: max(one.get(device, 0), other.get(device, 0)) for device in {**one, **other}}


def _of_reading(reading: Memory, rest: int) -> Iterator[Component]:
    """What the counters of a device or the host say beyond the rest. Less than nothing is none: the rest lies elsewhere, too."""
    on_host = reading.device == "cpu"
    other = (reading.host_resident_bytes if on_host else reading.allocated_bytes) - rest
    if not on_host:
        name, basis = _ACTIVATIONS
        peak = max(0, reading.peak_bytes - reading.allocated_bytes)
        yield Component(name=name, basis=basis, device=reading.device, peak_bytes=peak)
    if other >= 0:
        yield from _rows(_OTHER_OF_HOST if on_host else _OTHER, {reading.device: other})
