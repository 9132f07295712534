"""The file of definitions: each distinct content once, on file before the first record that uses it."""

from __future__ import annotations

import json
import os
import struct
import time
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Final

_POLYNOMIAL: Final = 0x82F63B78  # CRC-32C, reflected
_HEAD: Final = struct.Struct("<II")
_RETRY_S: Final = 1.0
_MOST_BYTES: Final = 1 << 27
_MOST_TEXT_BYTES: Final = _MOST_BYTES + (1 << 20)  # so that there are words for what is refused


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_TABLE: Final = _table()


def crc32c(data: bytes) -> int:
    """The CRC-32C of the bytes."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Definitions:
    """An append-only file of definitions. Not thread-safe; for the process that made it only."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._bytes = 0
        self._known: dict[bytes, int] = {}
        self._last: dict[str, int] = {}
        self._retry_at = 0.0
        self.refused: Counter[str] = Counter()  # by kind, as there were too many

    def define(self, kind: str, fields: dict[str, object]) -> int:
        """The local id of this content, written to the file if it is new; 0 when it cannot be written, or is refused."""
        content = json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()
        key = blake2b(kind.encode() + content, digest_size=16).digest()
        known = self._known.get(key)
        if known is not None:
            return known
        if self._bytes > (_MOST_TEXT_BYTES if kind == "text" else _MOST_BYTES):
            self.refused[kind] += 1
            return 0
        number = self._last.get(kind, 0) + 1
        head = {"d": kind} if kind in ("run", "rank") else {"d": kind, "id": number}
        if not self._append(json.dumps(head | fields, separators=(",", ":")).encode()):
            return 0
        self._last[kind] = self._known[key] = number
        return number

    def close(self) -> None:
        """Release the file."""
        os.close(self._file)

    def _append(self, content: bytes) -> bool:
        if self._retry_at and time.monotonic() < self._retry_at:
            return False
        record = _HEAD.pack(len(content), crc32c(content)) + content
        try:
            written = os.write(self._file, record)
        except OSError:
            written = 0
        if written == len(record):
            self._bytes += written
            self._retry_at = 0.0
            return True
        if written:  # a record cut short would hide those after it
            os.ftruncate(self._file, self._bytes)
        self._retry_at = time.monotonic() + _RETRY_S
        return False
