"""The ring of segments: files of fixed-width rows, mapped while they are written."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from tensortap._spool.records import place_of

_RETRY_S: Final = 1.0


class Segment:
    """One file of rows, all zero at first, allocated so that a full disk is an error here and no signal later."""

    def __init__(self, path: Path, size: int, *, place: int = 0, locked: bool = False) -> None:
        """Make and map it. The lock is held as long as it is mapped, by this process or a child."""
        self.path, self.place = path, place
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, size)
            self.bytes = _map(file, size)
            if locked:
                _lock(file)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(file)
        self.words = memoryview(self.bytes).cast("I")
        self._anchor = ctypes.c_char.from_buffer(self.bytes)
        self.address = ctypes.addressof(self._anchor)

    def close(self) -> None:
        """Unmap. No address within it may be used from now on: its own is 0."""
        self.address = 0
        self.words.release()
        del self._anchor
        self.bytes.close()


def _lock(file: int) -> None:
    """Where the file system has no locks, the agent knows a living process by its heartbeat alone."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _map(file: int, size: int) -> mmap.mmap:
    populate = getattr(mmap, "MAP_POPULATE", 0)  # Linux: no page fault at each 64th row
    return mmap.mmap(file, size, flags=mmap.MAP_SHARED | populate)


class Ring:
    """Makes segments and gives up the oldest. Not thread-safe."""

    def __init__(self, folder: Path, epoch: int, rows: int, row_bytes: int) -> None:
        self._folder, self._epoch, self._size = folder, epoch, rows * row_bytes
        self._retired: list[Segment] = []
        self._retry_at = 0.0
        self.first = self.next = 0

    def path(self, number: int) -> Path:
        """Where a segment lies."""
        return self._folder / f"rows-{number:08d}"

    def make(self) -> Segment | None:
        """The next segment; None when the disk has no room, asked again a second later at the earliest."""
        if self._retry_at and time.monotonic() < self._retry_at:
            return None
        try:
            segment = Segment(self.path(self.next), self._size, place=place_of(self._epoch, self.next))
        except OSError:
            self._retry_at = time.monotonic() + _RETRY_S
            return None
        self._retry_at = 0.0
        self.next += 1
        return segment

    def give_up_oldest(self) -> None:
        """Remove the oldest segment, which no agent has released."""
        self.path(self.first).unlink(missing_ok=True)
        self.first += 1

    def released(self, until: int) -> None:
        """The agent has deleted every segment before this one."""
        self.first = min(max(self.first, until), self.next)

    def retire(self, segment: Segment) -> None:
        """A full segment, kept mapped until what is pending on its rows is complete."""
        self._retired.append(segment)

    def unmap_retired(self, until: Segment | None = None) -> None:
        """Nothing is pending any more on those before that one, or on any."""
        while self._retired and self._retired[0] is not until:
            self._retired.pop(0).close()
