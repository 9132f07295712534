"""Writes the most frequent records at addresses of the spool: as here, or by the C kernel where there is one (_stats.kernel)."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tensortap._spool import layout
from tensortap._spool.records import store

CURRENT: Final = struct.Struct("<qII")  # of the header, from HEADER_CURRENT_TIME_NS: when the op began, the op, its seq
_ROW: Final = layout.RECORD_BYTES
_HEAD: Final = struct.Struct("<IIII")


@dataclass(frozen=True, kw_only=True)
class Writers:
    """Each takes the address first, the place of the segment, and commits at once; but for that of lines, which are of logging."""

    op: Callable[[int, int, int, int, int, int, int, int, int], object]
    again: Callable[[int, int, int, int, int, int, int], object]
    number: Callable[[int, int, int, int, int, int, float], object]
    # of record_files' lines, seconds, place, step, text, more -> bytes of the record; 0 when it must be written another way
    line: Callable[[int, float, str, int, str, str], int]


def _op(record: int, current: int, op: int, parent: int, seq: int, stack: int, micro_step: int, flags: int, place: int) -> None:
    """An op begins or ends; that it is the current one goes to `current`, unless that is 0."""
    now = time.time_ns()
    if current:
        ctypes.memmove(current, CURRENT.pack(now, op, seq), CURRENT.size)
    store(record, layout.OP_KIND, place, layout.OP.pack(op, parent, seq, stack, now, micro_step, flags))


def _again(source: int, record: int, rows: int, site: int, layout_id: int, seq: int, place: int) -> None:
    """The rows of a tensor once more, for another site."""
    for at in range(_ROW, rows * _ROW, _ROW):
        content = ctypes.string_at(source + at, _ROW)
        store(record + at, content[layout.COMMIT_OFFSET], place, content[: layout.COMMIT_OFFSET])
    content = ctypes.string_at(source, layout.COMMIT_OFFSET)
    flags = _HEAD.unpack_from(content)[3] | layout.REUSED
    store(record, layout.TENSOR_KIND, place, _HEAD.pack(site, layout_id, seq, flags) + content[_HEAD.size :])


def _number(record: int, site: int, layout_id: int, seq: int, place: int, whole: int, real: float) -> None:
    """An argument that is a number."""
    store(record, layout.NUMBER_KIND, place, layout.NUMBER.pack(site, layout_id, whole, real, seq))


def _line(lines: int, seconds: float, place: str, step: int, text: str, more: str) -> int:
    """None is."""
    del lines, seconds, place, step, text, more
    return 0


BY_PYTHON: Final = Writers(op=_op, again=_again, number=_number, line=_line)
