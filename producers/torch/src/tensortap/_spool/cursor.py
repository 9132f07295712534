"""Where the next row goes. The C kernel reads and writes it, too: the cursor of csrc/take.c."""

from __future__ import annotations

import ctypes
from typing import Final

# Places in its words: the segment's address, 0 for none; bytes within it; of the segment; rows of tensors so far; whether the spool is nearly full.
SEGMENT, AT, END, PLACE, TENSORS, THIN = range(6)
_WORDS: Final = 6


class Cursor:
    """Numbers of 64 bits in memory that does not move."""

    __slots__ = ("_memory", "address", "words")

    def __init__(self) -> None:
        self._memory = (ctypes.c_uint64 * _WORDS)()
        self.address = ctypes.addressof(self._memory)
        self.words: memoryview[int] = memoryview(self._memory).cast("B").cast("Q")

    @property
    def is_thin(self) -> bool:
        """Whether the spool is nearly full."""
        return bool(self.words[THIN])

    def add(self, rows: int, at: int, row_bytes: int) -> None:
        """So many rows at that place are an argument's."""
        self.words[AT] = at + rows * row_bytes
        self.words[TENSORS] += 1

    def turn(self, address: int, size: int, place: int) -> None:
        """To the beginning of a segment."""
        self.words[SEGMENT], self.words[AT], self.words[END], self.words[PLACE] = address, 0, size, place
