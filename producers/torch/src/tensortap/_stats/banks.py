"""Memory for rows of tensors: filled on a device, copied to the host while the next is filled."""

from __future__ import annotations

from typing import Final

import torch

from tensortap._stats.drain import WORDS, Pendings
from tensortap._stats.streams import Streams

_ROWS: Final = 4096  # of a bank: 1 MiB
_MOST_BANKS: Final = 8  # of a device


class Bank:
    """Rows of some tensors of one device."""

    @torch.inference_mode(False)  # whose tensors cannot be written once it has ended
    def __init__(self, device: torch.device, streams: Streams) -> None:
        """Takes 1 MiB of the device's memory and as much of pinned host memory."""
        self.device, self._streams = device, streams
        with streams.ours():
            self.rows = torch.empty((_ROWS, WORDS), dtype=torch.float64, device=device)
        self.host = torch.empty((_ROWS, WORDS), dtype=torch.float64, pin_memory=device.type == "cuda")
        self.pending = Pendings(_ROWS)
        self._arrived = streams.event()

    @property
    def is_full(self) -> bool:
        """Whether no further tensor fits."""
        return self.pending.count == _ROWS

    def send(self) -> None:
        """Begin to copy the rows to the host."""
        used = self.pending.count
        self._streams.copy(self.rows[:used], self.host[:used], self._arrived)

    def has_arrived(self, wait: bool) -> bool:
        """Whether the rows are on the host. Raises RuntimeError where the device failed."""
        if self._arrived is None:
            return True
        with self._streams.on_device():
            if wait:
                self._arrived.synchronize()
            return bool(self._arrived.query())


class Banks:
    """Those of one device."""

    def __init__(self, device: torch.device) -> None:
        self.streams = Streams(device)
        self.filling: Bank | None = None
        self._device = device
        self._free: list[Bank] = []
        self._left = _MOST_BANKS

    @property
    def has_free(self) -> bool:
        """Whether there is one whose rows were read."""
        return bool(self._free)

    def fill(self) -> Bank | None:
        """Another bank to fill; None when all are on their way to the host."""
        if not self._free and self._left:
            self._make()
        self.filling = self._free.pop() if self._free else None
        return self.filling

    def _make(self) -> None:
        try:
            self._free.append(Bank(self._device, self.streams))
            self._left -= 1
        except torch.cuda.OutOfMemoryError:
            if self._left == _MOST_BANKS:
                raise
            self._left = 0  # those that there are must do: to ask again and again costs the program its cached memory

    def give_back(self, bank: Bank) -> None:
        """Its rows were read."""
        bank.pending.count = 0
        self._free.append(bank)

    def give_up(self) -> None:
        """Nobody knows what the device still does to a bank that has failed: another may be made."""
        self._left += 1
