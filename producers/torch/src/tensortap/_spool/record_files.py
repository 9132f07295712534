"""Files of records of logging: what is written is there when the process is killed, and costs no call of the system."""

from __future__ import annotations

import ctypes
import fcntl
import json
import math
import mmap
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

_MOST_BYTES: Final = 16 << 20  # of a file
_MOST_FILES: Final = 4  # of a process that no agent has read
_AHEAD: Final = 1 << 20  # bytes of a file that are mapped at a time
_RETRY_S: Final = 1.0
_ENDING: Final = ".logging"


class Lines(ctypes.Structure):
    """Where lines go; the C kernel's tap_lines. The end is 0 while Python writes, or changes the pages."""

    _fields_ = (("pages", ctypes.c_void_p), ("at", ctypes.c_uint64), ("end", ctypes.c_uint64))
    pages: int
    at: int
    end: int


class Files:
    """Files beside a process's folder, one after the other. Bytes that are not written yet are zero.

    Not for several threads; but the kernel may append to `lines` at any time between what Python does.
    """

    def __init__(self, spool: Path, head: Mapping[str, object]) -> None:
        """The spool is the process's folder."""
        self._spool, self._head = spool, dict(head)
        self._number = self._file = -1
        self._pages = mmap.mmap(-1, mmap.PAGESIZE)  # none of a file
        self._begin = self._end = 0  # of the pages in the file, and of what may be written in them
        self._lines = Lines(0, 0, 0)
        self.lines = ctypes.addressof(self._lines)
        self._retry = 0.0  # when it is looked again whether a file may begin
        self.dropped = 0
        self.full = False  # the last line found no room
        self._writing, self._waiting = False, list[bytes]()

    def takes(self) -> bool:
        """Whether a line is worth making though the files are full; else it is counted as dropped."""
        if time.monotonic() >= self._retry:
            return True
        self.dropped += 1
        return False

    def write(self, line: bytes) -> None:
        """Append a line, or count that nobody makes room for it. What a signal's handler writes meanwhile follows."""
        self._waiting.append(line)
        while self._waiting and not self._writing:
            self._writing = True
            try:
                self._lines.end = 0
                self._write(self._waiting.pop(0))
                self._lines.end = self._end
            finally:
                self._writing = False

    def _write(self, line: bytes) -> None:
        size = len(line)
        if self._lines.at + size > self._end:
            self.full = not self._has_room(size)
            if self.full:
                self.dropped += 1
                return
        at = self._lines.at
        self._lines.at = end = at + size
        self._pages[at:end] = line

    def close(self) -> None:
        """End the file, and begin no other."""
        self.end()
        self.give_up()

    def give_up(self) -> None:
        """Begin no file any more, and let go of the one under way."""
        self.leave()
        self._retry, self.full = math.inf, True

    def end(self) -> None:
        """The file under way is as long as what is written into it, and ends."""
        self._lines.end = 0
        if self._file >= 0:
            with suppress(OSError):
                os.ftruncate(self._file, self._begin + self._lines.at)
        self.leave()

    def leave(self) -> None:
        """Let go of the file, which may be another process's."""
        file, self._file = self._file, -1
        self._go_on_in(mmap.mmap(-1, mmap.PAGESIZE), 0, 0, 0)
        if file >= 0:
            os.close(file)

    def _has_room(self, size: int) -> bool:
        try:
            if self._file >= 0 and self._begin + self._lines.at <= _MOST_BYTES:
                self._map(size)
            elif self._file >= 0 or time.monotonic() >= self._retry:
                self._next_file(size)
        except OSError:  # as of a full disk: tried again with the next file
            self.end()
        return self._file >= 0

    def _map(self, size: int) -> None:
        """Go on to pages that have room for so many bytes. A full disk is an error here, and no signal later."""
        at = self._begin + self._lines.at
        begin = at - at % mmap.ALLOCATIONGRANULARITY
        length = max(_AHEAD, at - begin + size)
        os.posix_fallocate(self._file, begin, length)
        populate = getattr(mmap, "MAP_POPULATE", 0)  # Linux: no page fault at each 30th record
        pages = mmap.mmap(self._file, length, flags=mmap.MAP_SHARED | populate, offset=begin)
        self._go_on_in(pages, begin, at - begin, length)

    def _go_on_in(self, pages: mmap.mmap, begin: int, at: int, end: int) -> None:
        lines, before = self._lines, self._pages
        lines.end = 0  # until the line that there is room for is written
        lines.pages, lines.at = ctypes.addressof(ctypes.c_char.from_buffer(pages)), at
        self._pages, self._begin, self._end = pages, begin, end
        before.close()

    def _next_file(self, size: int) -> None:
        """Begin a file, if not too many wait for an agent."""
        self.end()
        self._retry = time.monotonic() + _RETRY_S
        if len(list(self._spool.parent.glob(f"{self._spool.name}.*{_ENDING}"))) >= _MOST_FILES:
            return
        self._number += 1
        path = self._spool.parent / f"{self._spool.name}.{self._number}{_ENDING}"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        head = json.dumps(self._head | {"pid": os.getpid(), "dropped": self.dropped, "time_ns": time.time_ns()}).encode() + b"\n"
        try:
            self._map(len(head) + size)
        except OSError:
            path.unlink()
            raise
        self.dropped = 0
        self._write(head)
