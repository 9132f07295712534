"""Memory for raw tensors on their way to files: bounded, used again, and filled without a wait for anybody."""

from __future__ import annotations

import mmap
import os
import threading
from collections import deque
from typing import Any, Final

import torch
from torch import Tensor

from tensortap import _torch_compat
from tensortap._record.raw_writing import LEAST_IN_PAGES
from tensortap._stats.streams import Streams

_MOST_BYTES: Final = 4 << 30
_PART_OF_FREE: Final = 16  # of a host's memory, which its other ranks need, too
_MOST_STAGED: Final = 256 << 20  # of a device's memory


def most_bytes() -> int:
    """The bound of a process: 4 GiB, or a sixteenth of what the host has to spare as it begins."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            spare = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return _MOST_BYTES
    return min(_MOST_BYTES, spare // _PART_OF_FREE)


class Memory:
    """Buffers of the exact size of a tensor: a model's tensors have the same sizes in each step."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._free: dict[tuple[int, bool], list[Tensor]] = {}
        self._bytes = 0  # of all buffers, free ones included
        self._free_bytes = 0

    def is_tight(self) -> bool:
        """Whether tensors that wait take more than half of it: the disk is slower than the model."""
        return self._bytes - self._free_bytes > self.most // 2

    @torch.inference_mode(False)  # whose tensors cannot be written once it has ended
    def take(self, size: int, pinned: bool) -> Tensor | None:
        """A buffer of so many bytes; None where the bound leaves no room. Raises MemoryError or RuntimeError where the host has none."""
        with self._lock:
            if free := self._free.get((size, pinned)):
                self._free_bytes -= size
                return free.pop()
            if self._bytes + size > self.most:
                self._let_go(self._bytes + size - self.most)
            if self._bytes + size > self.most:
                return None
            made = _made(size, pinned)
            self._bytes += size
            return made

    def give_back(self, buffer: Tensor, pinned: bool) -> None:
        """By any thread: its tensor is in a file, or is given up."""
        with self._lock:
            self._free.setdefault((buffer.numel(), pinned), []).append(buffer)
            self._free_bytes += buffer.numel()

    def _let_go(self, excess: int) -> None:
        """Free buffers of other sizes."""
        for (size, _), free in self._free.items():
            while free and excess > 0:
                free.pop()
                self._bytes -= size
                self._free_bytes -= size
                excess -= size


def _made(size: int, pinned: bool) -> Tensor:
    """Memory that begins with a page where it is large, alone in its storage. Raises MemoryError, or RuntimeError where torch makes it."""
    if pinned or size < LEAST_IN_PAGES:
        return torch.empty(size, dtype=torch.uint8, pin_memory=pinned)
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(os.strerror(error.errno or 0)) from error
    return torch.frombuffer(pages, dtype=torch.uint8)


class Copy:
    """One tensor in a buffer, or on its way into it."""

    __slots__ = ("_arrived", "_buffer", "_memory", "_pinned", "_streams", "tensor")

    def __init__(self, memory: Memory, buffer: Tensor, tensor: Tensor, pinned: bool) -> None:
        self._memory, self._buffer, self._pinned, self.tensor = memory, buffer, pinned, tensor
        self._streams: Streams | None = None
        self._arrived: Any = None

    def comes(self, streams: Streams, arrived: Any) -> None:
        """It is on its way from a device, and there when the event says so."""
        self._streams, self._arrived = streams, arrived

    def has_come(self) -> bool:
        """Whether the elements are there. Raises RuntimeError where the device failed."""
        return self._arrived is None or bool(self._arrived.query())

    def wait(self) -> None:
        """Until the elements are there; for a thread of ours. Raises as has_come."""
        if self._arrived is not None and self._streams is not None:
            with self._streams.on_device():
                self._arrived.synchronize()

    def free(self) -> None:
        """Nobody needs the elements any more."""
        self._memory.give_back(self._buffer, self._pinned)


class Staging:
    """Copies in the memory of one device, whose program goes on to write what was copied."""

    def __init__(self, device: torch.device) -> None:
        self._streams = Streams(device)
        self._staged: deque[tuple[Copy, Tensor]] = deque()
        self._bytes = 0

    def copy(self, tensor: Tensor, into: Copy) -> None:
        """Begin to copy a tensor to the host. The program's stream goes on once it has a copy on the device, where there is room."""
        self._streams.here()
        with self._streams.on_device():
            staged, arrived = self._stage(tensor), self._streams.event()
            if staged is not None:
                self._streams.copy(staged, into.tensor, arrived)
                self._staged.append((into, staged))
            else:
                into.tensor.copy_(tensor, non_blocking=True)
                if arrived is not None:
                    arrived.record()
        into.comes(self._streams, arrived)

    def _stage(self, tensor: Tensor) -> Tensor | None:
        while self._staged and self._staged[0][0].has_come():
            self._bytes -= self._staged.popleft()[1].nbytes
        if self._bytes + tensor.nbytes > _MOST_STAGED:
            return None
        try:
            staged = tensor.clone(memory_format=torch.contiguous_format)
        except torch.cuda.OutOfMemoryError:
            return None
        self._bytes += staged.nbytes
        return staged


class Copies:
    """Copies tensors of any device into buffers."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._devices: dict[torch.device, Staging] = {}

    @torch.inference_mode(False)
    @torch.no_grad()
    def of(self, tensor: Tensor) -> Copy | None:
        """A copy of a plain tensor, in row-major order; None where the bound leaves no room. Raises as `Memory.take`."""
        with _torch_compat.DisableTorchDispatch():
            pinned = tensor.is_cuda
            buffer = self.memory.take(tensor.nbytes, pinned)
            if buffer is None:
                return None
            copy = Copy(self.memory, buffer, buffer.view(tensor.dtype).view(tensor.shape), pinned)
            try:
                self._fill(copy, tensor)
            except RuntimeError:
                copy.free()
                raise
        return copy

    def _fill(self, copy: Copy, tensor: Tensor) -> None:
        if tensor.is_cpu:
            copy.tensor.copy_(tensor)
            return
        if tensor.device not in self._devices:
            self._devices[tensor.device] = Staging(tensor.device)
        self._devices[tensor.device].copy(tensor, copy)
