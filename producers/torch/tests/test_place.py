"""A record's checksum holds where it lies: readers find a segment in another's place."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import reading
import torch

from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._spool.spool import Spool
from tensortap._spool.written import Written
from tensortap._stats.measure import MAX_ROWS, Measurer


def spooled(root: Path, rows: int) -> Spool:
    """A spool of small segments, with its first definitions."""
    return Spool(root, segments=4, segment_rows=rows)


def tensor(spool: Spool, value: float) -> Written:
    """Write a tensor with all extensions."""
    address = spool.reserve()
    found = Measurer(1, True, True).measure(torch.tensor([value, float("nan")]), address, Name(1, 1, 1, 0, spool.place))
    written = spool.advance(found)
    assert written is not None and found == MAX_ROWS
    return written


def test_rows_written_again_in_the_next_segment_are_of_that_place(tmp_path: Path) -> None:
    spool = spooled(tmp_path, 8)
    written = tensor(spool, 1.0)
    spool.again(written, 1, 1, 1)
    spool.close()
    rows = list(reading.read_rows(spool.folder, spool.epoch))
    kinds = ["tensor", "counts", "sketch", "sketch", "digest"]
    assert [kind for kind, _ in rows] == 2 * kinds, "all with the checksum of their place, which reading asserts"
    assert [row for _, row in rows[1:5]] == [row for _, row in rows[6:]]


def test_rows_kept_while_the_spool_is_full_are_of_their_place(tmp_path: Path) -> None:
    spool = spooled(tmp_path, 8)
    for value in range(3):
        tensor(spool, float(value))
    look = ctypes.c_uint64.from_buffer(spool.header.bytes, layout.AGENT_OFFSET)
    look.value = 1
    tensor(spool, 3.0)
    address = spool.reserve()
    rows = Measurer(1, True, True).measure(torch.tensor([float("inf")]), address, Name(1, 1, 1, 0, spool.place))
    assert spool.cursor.is_thin and spool.advance(rows) is not None
    del look
    spool.close()
    assert [kind for kind, _ in reading.read_rows(spool.folder, spool.epoch)].count("tensor") == 5


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2)])
def test_swapped_segments_show(tmp_path: Path, one: int, other: int) -> None:
    spool = spooled(tmp_path, 8)
    for value in range(3):
        tensor(spool, float(value))
    spool.close()
    paths = [spool.folder / f"rows-{number:08d}" for number in (one, other)]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, reversed(contents), strict=True):
        path.write_bytes(content)
    with pytest.raises(AssertionError):
        list(reading.read_rows(spool.folder, spool.epoch))
