"""CUDA tensors: measured on their device, their records written at the end of the step."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensortap._spool.records import Name
from tensortap._stats import digest, fallback
from tensortap._stats.drain import Drain, Pendings
from tensortap._stats.kernel import Kernel
from tensortap._stats.strides import Readings

if TYPE_CHECKING:
    from tensortap._stats.triton_kernel import Rows


class Deferred:
    """Tensors whose rows are still on their devices."""

    def __init__(self, sketched: bool, digested: bool, library: Kernel | None = None) -> None:
        """Raises ImportError where there is no Triton. Without the C kernel Python writes the records."""
        from tensortap._stats import triton_kernel

        self._new: type[Rows] = triton_kernel.Rows
        self._sketched, self._digested = sketched, digested
        self._drain = Drain(sketched, digested, library)
        self._readings = Readings(ordered=sketched or digested)
        self._rows: dict[torch.device, Rows] = {}
        self._pending: dict[torch.device, Pendings] = {}
        self.overflowed: set[int] = set()  # the sites of a NaN or +Inf

    def add(self, tensor: Tensor, address: int, name: Name) -> int:
        """Enqueues the tensor's measuring. Returns how many records it will have: the one of counts always."""
        rows = self._rows.get(tensor.device)
        if rows is None:
            rows = self._rows[tensor.device] = self._new(tensor.device)
        if rows.full:
            self._write(tensor.device)
        hashed = digest.raw_bytes(tensor) if self._digested else None
        with torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext():
            rows.add(self._flat(tensor), fallback.least_normal(tensor), self._sketched, hashed, digest.page_bytes(tensor))
        pending = self._pending.setdefault(tensor.device, Pendings(rows.most))
        pending.add(address, name, tensor.numel() * tensor.element_size())
        return self._drain.records

    def flush(self) -> None:
        """Writes the records of all that is pending, when the devices are done with it.

        Raises RuntimeError where a device failed; its records say that they could not be read, those of others are whole.
        """
        with ExitStack() as each:
            for device in list(self._pending):
                each.callback(self._write, device)

    def _flat(self, tensor: Tensor) -> Tensor:
        """The elements, contiguous, in row-major order where that counts."""
        reading = None if tensor.is_contiguous() else self._readings.of(tensor.shape, tensor.stride())
        if reading is not None and not reading.address and reading.elements == tensor.numel():
            tensor = tensor.as_strided((reading.elements,), (1,))
        return tensor.detach().contiguous().reshape(-1)

    def _write(self, device: torch.device) -> None:
        pending = self._pending.pop(device)
        try:
            found = self._rows[device].collect()
        except RuntimeError:
            self._drain.unread(pending)
            raise
        self.overflowed |= self._drain.write(found, pending)
