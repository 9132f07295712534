"""Rows that lie in a segment: their commit words, and what a tensor's say."""

from __future__ import annotations

import struct
from typing import Final

from tensortap._spool import layout
from tensortap._spool.records import commit_word
from tensortap._spool.segments import Segment

_OVERFLOWED: Final = struct.Struct("<QQ")  # of a tensor's counts: NaN and +Inf

Written = tuple[Segment, int, int]  # rows: the segment, where they begin in it, how many


def commit(segment: Segment, at: int, kind: int) -> None:
    """Write the commit word of a row, whose other bytes are written."""
    word = commit_word(kind, segment.place, segment.bytes[at : at + layout.COMMIT_OFFSET])
    segment.words[(at + layout.COMMIT_OFFSET) >> 2] = word


def commit_again(segment: Segment, begin: int, end: int) -> None:
    """Write the commit words of rows that were written elsewhere."""
    for at in range(begin, end, layout.RECORD_BYTES):
        commit(segment, at, segment.bytes[at + layout.COMMIT_OFFSET])


def flags(written: Written) -> int:
    """The flags of a tensor's row."""
    segment, at, _ = written
    return segment.words[(at >> 2) + 3]


def overflowed(written: Written) -> bool:
    """Whether a tensor of several rows has a NaN or +Inf. -Inf alone is how models mask."""
    segment, at, _ = written
    counted = segment.bytes[at + layout.RECORD_BYTES + layout.COMMIT_OFFSET] == layout.COUNTS_KIND
    return counted and any(_OVERFLOWED.unpack_from(segment.bytes, at + layout.RECORD_BYTES))
