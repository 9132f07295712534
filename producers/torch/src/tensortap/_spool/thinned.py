"""Rows of tensors while the spool is nearly full: they go into it only if a value is not finite, which devices say later."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any, Final

from tensortap._spool import layout

MOST_ROWS: Final = 5  # of one tensor: its own and its extensions
ROW: Final = layout.RECORD_BYTES
_MOST_WAITING: Final = 4096  # tensors: 1.3 MB
_NOT_FINITE: Final = struct.Struct("<QQQ")


class Aside:
    """Memory beside the spool. To be used under the session's lock."""

    def __init__(self) -> None:
        self._scratch = _zeros()  # of a tensor that is measured at once
        self._reserved: Any = None  # of one that is not
        self._waiting: list[tuple[Any, int]] = []  # with how many rows

    @property
    def is_full(self) -> bool:
        """Whether what waits must be drained before more can."""
        return len(self._waiting) >= _MOST_WAITING

    @property
    def has_waiting(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)

    def reserve(self, at_once: bool) -> int:
        """The address of MOST_ROWS zeroed rows; 0 where that is full."""
        self._reserved = None
        if at_once:
            ctypes.memset(ctypes.addressof(self._scratch), 0, MOST_ROWS * ROW)
            return ctypes.addressof(self._scratch)
        if self.is_full:
            return 0
        self._reserved = _zeros()
        return ctypes.addressof(self._reserved)

    def take(self, rows: int) -> memoryview | None:
        """The rows that were reserved last, so many of them; None where they are to be written later, and wait for that."""
        if self._reserved is None:
            return memoryview(self._scratch).cast("B")[: rows * ROW]
        self._waiting.append((self._reserved, rows))
        self._reserved = None
        return None

    def drain(self) -> Iterator[memoryview]:
        """The rows of each tensor that waited, which are written now."""
        waiting, self._waiting = self._waiting, []
        return (memoryview(memory).cast("B")[: rows * ROW] for memory, rows in waiting)


def matters(rows: memoryview) -> bool:
    """Whether a value of the tensor is not finite."""
    counted = len(rows) > ROW and rows[ROW + layout.COMMIT_OFFSET] == layout.COUNTS_KIND
    return counted and any(_NOT_FINITE.unpack_from(rows, ROW))


def _zeros() -> Any:
    return (ctypes.c_char * (MOST_ROWS * ROW))()
