"""The streams of a device on which tensors are measured, and one of ours on which their rows go to the host."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import torch
from torch import Tensor

_RELAXED: Final = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


def is_asynchronous(device: torch.device) -> bool:
    """Whether work is enqueued there, and done later."""
    return device.type == "cuda"


def ask_beside_captures() -> bool:
    """Make that what this thread asks of the driver breaks no capture of another thread. Whether that could be done."""
    try:
        return not ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(_RELAXED)))
    except (OSError, AttributeError):
        return False


class Streams:
    """Those of one device."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._is_asynchronous = device, is_asynchronous(device)
        self._used: dict[int, Any] = {}  # have had work of ours since the last copy
        self._reached: list[Any] = []  # events: that work is done
        self._own: Any = None

    def here(self) -> int:
        """The number of the current stream, which gets work; 0 where a device has no streams."""
        if not self._is_asynchronous:
            return 0
        stream = torch.cuda.current_stream(self._device)
        self._used[stream.cuda_stream] = stream
        return int(stream.cuda_stream)

    def event(self) -> Any:
        """What tells of a copy; None where copies are done at once."""
        return torch.cuda.Event() if self._is_asynchronous else None

    def on_device(self) -> AbstractContextManager[object]:
        """Within, the device is the current one: a thread that asks for another would have memory taken of the first, for a context."""
        return torch.cuda.device(self._device) if self._is_asynchronous else nullcontext()

    def ours(self) -> AbstractContextManager[object]:
        """Within, what is enqueued goes to a stream that has no other work, and memory is taken that no other stream may still use."""
        if not self._is_asynchronous:
            return nullcontext()
        if self._own is None:
            self._own = torch.cuda.Stream(self._device)
        return torch.cuda.stream(self._own)

    def copy(self, source: Tensor, target: Tensor, arrived: Any) -> None:
        """Copy to pinned memory when all work so far is done, on whatever stream. No stream of the program waits, nor does the host."""
        with self.ours():
            self._join()
            target.copy_(source, non_blocking=True)
            if arrived is not None:
                arrived.record(self._own)

    def _join(self) -> None:
        used, self._used = list(self._used.values()), {}
        while len(self._reached) < len(used):
            self._reached.append(self.event())
        for stream, reached in zip(used, self._reached, strict=False):
            reached.record(stream)
            self._own.wait_event(reached)
