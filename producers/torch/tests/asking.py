"""Asks a process as the agent does, for tests: through the header of its spool."""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import Any

from tensortap._spool import layout
from tensortap._spool.definitions import crc32c


def ask(spool: Path, sequence: int, **request: Any) -> None:
    """Write a request, as capture, stop and resume send it."""
    write(spool, sequence, json.dumps(request).encode())


def write(folder: Path, sequence: int, text: bytes, checksum: int | None = None) -> None:
    """Write the text of a request, with its own checksum unless another is given."""
    with (folder / "header").open("r+b") as file, mmap.mmap(file.fileno(), layout.HEADER_BYTES) as page:
        page[layout.ASKED_TEXT : layout.ASKED_TEXT + len(text)] = text
        struct.pack_into("<II", page, layout.ASKED_LENGTH, len(text), crc32c(text) if checksum is None else checksum)
        struct.pack_into("<I", page, layout.ASKED_SEQUENCE, sequence)


def poke(folder: Path, number: int) -> None:
    """Ask where the threads are."""
    with (folder / "header").open("r+b") as file, mmap.mmap(file.fileno(), layout.HEADER_BYTES) as page:
        struct.pack_into("<I", page, layout.ASKED_POKE, number)


def answer(folder: Path) -> tuple[int, int, int, int, str]:
    """Sequence, outcome, step, poked and text of what the process said last."""
    page = (folder / "header").read_bytes()
    sequence, outcome, step, poked, length = struct.unpack_from("<IIIII", page, layout.ANSWERED_SEQUENCE)
    return sequence, outcome, step, poked, page[layout.ANSWERED_TEXT : layout.ANSWERED_TEXT + length].decode()
