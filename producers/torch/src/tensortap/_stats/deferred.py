"""CUDA tensors: measured on their device, their records written when their rows have come to the host, which nobody waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensortap._spool.records import Name
from tensortap._stats import digest, fallback
from tensortap._stats.banks import Bank, Banks
from tensortap._stats.drain import Drain
from tensortap._stats.kernel import Kernel
from tensortap._stats.leaving import leave
from tensortap._stats.strides import Readings

if TYPE_CHECKING:
    from tensortap._stats.triton_measure import Launcher


class Deferred:
    """Tensors whose rows are still on their devices, or on their way to the host."""

    def __init__(self, sketched: bool, digested: bool, library: Kernel | None = None) -> None:
        """Raises ImportError where there is no Triton. Without the C kernel Python writes the records."""
        from tensortap._stats import triton_measure

        self._launcher: type[Launcher] = triton_measure.Launcher
        self._sketched, self._digested = sketched, digested
        self._drain = Drain(sketched, digested, library)
        self._readings = Readings(ordered=sketched or digested)
        self._devices: dict[torch.device, tuple[Banks, Launcher]] = {}
        self._sent: deque[Bank | Callable[[], None]] = deque()  # in the order in which records are written
        self.overflowed: set[int] = set()  # the sites of a NaN or +Inf
        self.waits = 0  # for a bank, since all were on their way

    def tell(self, sites: dict[int, set[int]]) -> None:
        """Put into that, by seq, the sites of a NaN or +Inf."""
        self._drain.told = sites

    @property
    def is_waiting(self) -> bool:
        """Whether anything is on its way to the host."""
        return bool(self._sent)

    def add(self, tensor: Tensor, address: int, name: Name) -> int:
        """Enqueues the tensor's measuring. Returns how many records it will have: the one of counts always."""
        banks, launcher = self._devices.get(tensor.device) or self._new(tensor.device)
        bank = self._room(banks)
        hashed = digest.raw_bytes(tensor) if self._digested else None
        with torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext():
            row = bank.rows[bank.pending.count]
            launcher.add(row, self._flat(tensor), fallback.least_normal(tensor), self._sketched, hashed, digest.page_bytes(tensor))
        bank.pending.add(address, name, tensor.numel() * tensor.element_size())  # last: the row of what could not be measured is the next one's
        return self._drain.records

    def send(self) -> None:
        """Rows of all that is pending begin to go to the host."""
        with ExitStack() as each:
            for banks, _ in self._devices.values():
                each.callback(self._send, banks)

    def poll(self) -> None:
        """Writes the records of what has come to the host.

        Raises RuntimeError where a device failed; its records say that they could not be read, those of others are whole.
        """
        self._finish(wait=False)

    def flush(self) -> None:
        """Writes the records of all that is pending, when the devices are done with it. Raises as poll does."""
        try:
            self.send()
        finally:
            self._finish(wait=True)

    def then(self, action: Callable[[], None]) -> None:
        """Do that when the records are written of all that was sent so far."""
        self._sent.append(action)
        if len(self._sent) == 1:
            self._finish(wait=False)

    def forget(self) -> None:
        """In a child: what is pending is the parent's."""
        leave(self._devices, self._sent)
        self._devices, self._sent = {}, deque()

    def _new(self, device: torch.device) -> tuple[Banks, Launcher]:
        banks = Banks(device)
        made = self._devices[device] = banks, self._launcher(device, banks.streams)
        return made

    def _room(self, banks: Banks) -> Bank:
        """A bank with room for a tensor."""
        bank = banks.filling
        if bank is not None and not bank.is_full:
            return bank
        self._send(banks)
        if not banks.has_free:
            self.poll()
        while (bank := banks.fill()) is None:
            self.waits += 1
            self._finish_first(wait=True)
        return bank

    def _send(self, banks: Banks) -> None:
        bank = banks.filling
        if bank is None or not bank.pending.count:
            return
        banks.filling = None
        try:
            bank.send()
        except RuntimeError:
            self._give_up(bank)
            raise
        self._sent.append(bank)

    def _finish(self, wait: bool) -> None:
        try:
            while self._sent and self._finish_first(wait):
                pass
        except RuntimeError:
            self._finish(wait)  # the others, too
            raise

    def _finish_first(self, wait: bool) -> bool:
        """Whether the first of what was sent has come, and is done with."""
        first = self._sent[0]
        if isinstance(first, Bank):
            return self._read(first, wait)
        self._sent.popleft()
        first()
        return True

    def _read(self, bank: Bank, wait: bool) -> bool:
        try:
            if not bank.has_arrived(wait):
                return False
        except RuntimeError:
            self._sent.popleft()
            self._give_up(bank)
            raise
        self._sent.popleft()
        self.overflowed |= self._drain.write(bank.host, bank.pending)
        self._devices[bank.device][0].give_back(bank)
        return True

    def _give_up(self, bank: Bank) -> None:
        self._drain.unread(bank.pending)
        self._devices[bank.device][0].give_up()

    def _flat(self, tensor: Tensor) -> Tensor:
        """The elements, contiguous, in row-major order where that counts."""
        reading = None if tensor.is_contiguous() else self._readings.of(tensor.shape, tensor.stride())
        if reading is not None and not reading.address and reading.elements == tensor.numel():
            tensor = tensor.as_strided((reading.elements,), (1,))
        return tensor.detach().contiguous().reshape(-1)
