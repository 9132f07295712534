"""What a tensor costs the processor: launches, and microseconds until they are enqueued and until its records are written."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from gpu_device import Device

from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._stats.measure import MAX_ROWS, Measurer

MOST_LAUNCHES, MOST_MICROSECONDS = 1.0, 10.0  # of an observed tensor
_ROUNDS, _TENSORS = 7, 100
WANTED = {"statistics": (False, False), "statistics and sketch": (True, False), "statistics, sketch and digest": (True, True)}


@dataclass(frozen=True, kw_only=True)
class Price:
    """Of one tensor."""

    wanted: str
    elements: int
    launches: float
    enqueued_us: float
    written_us: float
    done_us: float | None  # on the device, too; None in the interpreter

    def is_met(self) -> bool:
        """Whether the marks are."""
        return self.launches <= MOST_LAUNCHES and self.enqueued_us + self.written_us <= MOST_MICROSECONDS


def prices(device: Device, rounds: int = _ROUNDS) -> Iterator[Price]:
    """By what is wanted and by size."""
    for wanted, settings in WANTED.items():
        for elements in (4096,) if device.is_interpreted else (4096, 1 << 20, 1 << 26):
            measurer, tensor = device.measurer(*settings), torch.ones(elements, dtype=torch.bfloat16, device=device.name)
            _measured(measurer, tensor, 1)
            measurer.flush()
            launches = _launches(device, lambda measurer=measurer, tensor=tensor: _measured(measurer, tensor, 8)) / 8  # type: ignore[misc]
            measurer.flush()
            count = _TENSORS if elements < 1 << 26 else 5
            with _launching_nothing(device):
                times = [_times(device, measurer, tensor, count) for _ in range(rounds)]
            enqueued, done, written = (1e6 * statistics.median(each) / count for each in zip(*times, strict=True))
            yield Price(
                wanted=wanted,
                elements=elements,
                launches=launches,
                enqueued_us=enqueued,
                written_us=written,
                done_us=None if device.is_interpreted else done,
            )


def _times(device: Device, measurer: Measurer, tensor: torch.Tensor, count: int) -> tuple[float, float, float]:
    """Seconds of the processor to enqueue, by the clock until the device has done that, and of the processor to write the records then."""
    device.wait()
    begun, enqueuing = time.perf_counter(), time.thread_time()
    _measured(measurer, tensor, count)
    enqueued = time.thread_time() - enqueuing
    device.wait()
    done, writing = time.perf_counter() - begun, time.thread_time()
    measurer.flush()
    return enqueued, done, time.thread_time() - writing


def _measured(measurer: Measurer, tensor: torch.Tensor, count: int) -> object:
    """Measures a tensor so often; the memory of the records, which is written by the flush."""
    size = MAX_ROWS * layout.RECORD_BYTES
    memory = _kept.setdefault((id(measurer), count), ctypes.create_string_buffer(count * size))
    address = ctypes.addressof(memory)
    for at in range(0, count * size, size):
        measurer.measure(tensor, address + at, Name(1, 1, 1, 0, 0))
    return memory


_kept: dict[tuple[int, int], Any] = {}


def _launches(device: Device, work: Callable[[], object]) -> float:
    """How many kernels the work launches: on a GPU as its profiler counts them, in the interpreter as they come by."""
    if device.is_interpreted:
        with _launched() as launched:
            work()
        return len(launched)
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiled:
        work()
        device.wait()
    kernels = [event for event in profiled.events() or () if event.device_type == torch.autograd.DeviceType.CUDA]
    return len([event for event in kernels if not event.name.startswith(("Memcpy", "Memset"))])


@contextmanager
def _launched(runs: bool = True) -> Iterator[list[object]]:
    """What is launched in the interpreter within; it runs, or does not."""
    from triton.runtime.interpreter import GridExecutor

    whole, launched = GridExecutor.__call__, list[object]()

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        launched.append(None)
        return whole(self, *args, **kwargs) if runs else None

    GridExecutor.__call__ = call
    try:
        yield launched
    finally:
        GridExecutor.__call__ = whole


@contextmanager
def _launching_nothing(device: Device) -> Iterator[None]:
    """The time of kernels that the processor interprets would hide all other."""
    if not device.is_interpreted:
        yield
        return
    with _launched(runs=False):
        yield


def waits(device: Device) -> list[str]:
    """Whether measuring or the end of a step waits for the device: torch then refuses, and the tensor is recorded as one that cannot be read."""
    if device.is_interpreted:
        return []
    measurer, tensor = device.measurer(True, True), torch.randn(1000, 1000, device=device.name)
    _measured(measurer, tensor, 1)
    measurer.flush()
    device.wait()
    torch.cuda.set_sync_debug_mode("error")
    try:
        memory: Any = _measured(measurer, tensor, 2)
        measurer.send()
    except RuntimeError as error:
        return [f"the end of a step waits for the device: {error}"]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    measurer.flush()
    unread = layout.TENSOR.unpack_from(memory)[3] & layout.UNSUPPORTED
    return ["measuring a tensor waits for the device"] if unread else []
