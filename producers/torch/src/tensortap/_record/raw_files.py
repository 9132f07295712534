"""Raw tensors go to files by threads of their own; the rows that say so are written when they are there."""

from __future__ import annotations

import errno
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

from torch import Tensor

from tensortap._record import unseen
from tensortap._record.raw_forms import Write
from tensortap._record.raw_ledger import Ledger
from tensortap._record.raw_memory import Copies, Copy, Memory, most_bytes
from tensortap._spool import layout
from tensortap._spool.folder import fault_of_kept
from tensortap._spool.spool import Spool
from tensortap._spool.written import Written, commit
from tensortap._stats import streams
from tensortap._stats.leaving import leave

THREADS: Final = 2  # of a process: while one reads a tensor for its checksum, the disk reads the other's
LEAST_FREE_BYTES: Final = 1 << 29  # that are left to the disk
_PATIENCE: Final = 60.0  # seconds in which at least one file is written as a tap ends
_NO_MEMORY: Final = ("allocate memory", "out of memory")  # what torch says on CPU, and on CUDA


class File:
    """One file to be. Its copy is there, or comes; then a thread writes it; then `Files` writes its rows."""

    __slots__ = ("about", "checksum", "copy", "failure", "folder", "is_told", "is_written", "ledger", "location", "name", "rows", "size", "write")

    def __init__(self, copy: Copy, folder: Path, name: str, location: int, write: Write, about: dict[str, str], ledger: Ledger | None) -> None:
        self.ledger = ledger
        self.copy: Copy | None = copy  # until it is in the file
        self.folder, self.name, self.location, self.write, self.about = folder, name, location, write, about
        self.rows: list[tuple[Written, int, int]] = []  # places in the spool, site and seq
        self.size = self.checksum = 0
        self.failure = "an error of ours"  # unless it is known better
        self.is_written = self.is_told = False


class Files:
    """The files of one process. All but what the threads do is to be called under the session's lock."""

    def __init__(self, spool: Spool, counts: unseen.Unseen, say: Callable[[str], None]) -> None:
        self._spool, self._unseen, self._say = spool, counts, say
        self.copies = Copies(Memory(most_bytes()))
        self._waiting: queue.SimpleQueue[File | None] = queue.SimpleQueue()
        self._pending: deque[File | Callable[[], None]] = deque()  # in the order in which rows are committed
        self._threads: list[threading.Thread] = []
        self._made: set[Path] = set()  # folders; of the threads

    def write(self, file: File, site: int, seq: int) -> None:
        """Have a file written, and then its row."""
        if not self._threads:
            self._threads = [threading.Thread(target=self._run, name=f"tensortap payloads {number}", daemon=True) for number in range(THREADS)]
            for thread in self._threads:
                thread.start()
        self.again(file, site, seq)
        self._pending.append(file)
        self._waiting.put(file)

    def again(self, file: File, site: int, seq: int) -> None:
        """The tensor of a file is another value, too."""
        held = self._spool.hold(layout.PAYLOAD, site, seq, file.location, layout.DIGEST_CRC32, 0, 0, 0)
        if held is None:
            return
        if file.is_told:
            self._tell(file, held, site, seq)
        else:
            file.rows.append((held, site, seq))

    def then(self, action: Callable[[], None]) -> None:
        """Do that when the rows are written of all files so far."""
        self._pending.append(action)
        self.poll()

    def poll(self) -> None:
        """Write the rows of the files that are there. Waits for nobody."""
        while self._pending:
            first = self._pending[0]
            if isinstance(first, File):
                if not first.is_written:
                    return
                self._pending.popleft()
                self._finish(first)
            else:
                self._pending.popleft()
                first()

    def close(self) -> None:
        """Wait for all files, as long as some are written, and give up the others."""
        for _ in self._threads:
            self._waiting.put(None)
        left = len(self._pending) + 1
        while any(thread.is_alive() for thread in self._threads) and len(self._pending) < left:
            left = len(self._pending)
            self._join()
            self.poll()
        for one in list(self._pending):
            if isinstance(one, File) and not one.is_written:
                one.failure, one.is_written = "the disk did not answer", True
        self.poll()
        self._threads = [thread for thread in self._threads if thread.is_alive()]

    def forget(self) -> None:
        """In a child: all is the parent's, and buffers and events of files that are not written are left alone."""
        leave(self.copies, self._pending, self._waiting)
        self._pending = deque()
        self._threads = []

    def _join(self) -> None:
        until = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _finish(self, file: File) -> None:
        file.is_told = True
        for held, site, seq in file.rows:
            self._tell(file, held, site, seq)
        file.rows.clear()

    def _tell(self, file: File, held: Written, site: int, seq: int) -> None:
        segment, at, _ = held
        if file.failure:
            self._unseen.count(unseen.NOT_KEPT, file.failure)
            self._say(f"a raw tensor could not be written below {file.folder.parent}: {file.failure}; report unseen counts all that are not kept")
            commit(segment, at, layout.PAD_KIND)
            return
        values = (site, seq, file.location, layout.DIGEST_CRC32, file.size, file.checksum, time.time_ns())
        layout.PAYLOAD.pack_into(segment.bytes, at, *values)
        commit(segment, at, layout.PAYLOAD_KIND)

    def _run(self) -> None:
        streams.ask_beside_captures()
        while (file := self._waiting.get()) is not None:
            copy = cast(Copy, file.copy)
            try:
                copy.wait()
                file.failure = self._write(file, copy.tensor)
            except Exception as error:  # as in Guard: the files after this one are to be written
                file.failure = why(error)
            finally:
                file.copy = None
                copy.free()
                file.is_written = True

    def _write(self, file: File, tensor: Tensor) -> str:
        """What prevents it; empty when the file is there."""
        folder = file.folder
        if folder not in self._made:
            if fault := fault_of_kept(folder.parent):
                return fault
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._made.add(folder)
        if lack := lack_of_room(folder, tensor.nbytes):
            return lack
        if file.ledger and not file.ledger.take(tensor.nbytes):
            return file.ledger.limit
        past_memory = not self.copies.memory.is_tight()  # else the system's memory is to take what is left out otherwise
        file.size, file.checksum = file.write(f"{folder}/{file.name}", tensor, file.about, past_memory=past_memory)
        return ""


def lack_of_room(folder: Path, size: int) -> str:
    """That the disk has no room for so many bytes; empty where it has. Raises OSError."""
    disk = os.statvfs(folder)
    return f"less than {LEAST_FREE_BYTES} bytes of disk would be left" if disk.f_bavail * disk.f_frsize - size < LEAST_FREE_BYTES else ""


def why(error: Exception) -> str:
    """The reason in the system's words where it has any. Of a lack of memory torch has no type of its own on every device."""
    if isinstance(error, MemoryError) or any(said in str(error) for said in _NO_MEMORY):
        return os.strerror(errno.ENOMEM)
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else type(error).__name__
