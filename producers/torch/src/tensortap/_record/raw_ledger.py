"""How many bytes of raw tensors all processes of a run have kept in one folder: a number in a file there, which they share."""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from pathlib import Path
from typing import Final

_TOTAL: Final = struct.Struct("<Q")


class Ledger:
    """That of one run in one folder. For a thread that may wait for a disk."""

    def __init__(self, folder: Path, run: str, most_bytes: int) -> None:
        self._path, self._most = folder / f"{zlib.crc32(run.encode()):08x}.ledger", most_bytes
        self.limit = f"more than {most_bytes} bytes of all ranks of the host"

    def take(self, size: int) -> bool:
        """Count so many bytes more, unless there is no room for them. Raises OSError."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            content = os.pread(descriptor, _TOTAL.size, 0)
            total = size + (_TOTAL.unpack(content)[0] if len(content) == _TOTAL.size else 0)
            if total <= self._most:
                os.pwrite(descriptor, _TOTAL.pack(total), 0)
            return total <= self._most
        finally:
            os.close(descriptor)
