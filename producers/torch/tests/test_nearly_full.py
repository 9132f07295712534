"""A spool that is nearly full, while an agent looks: of tensors only those that are not finite are kept, wherever they lie."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import reading

from tensortap._spool import layout, records, thinned
from tensortap._spool.records import Name, Statistics
from tensortap._spool.spool import Spool

ROWS = 40


@pytest.fixture
def nearly_full(tmp_path: Path) -> Iterator[Spool]:
    """Has its reserve left, and an agent that looks."""
    made = Spool(tmp_path, segments=2, segment_rows=ROWS)
    _look(made, released=0)
    op, place = made.define("op", {"name": "op"}), made.define("layout", {"kind": "tensor"})
    assert (made.define("site", {"op": op, "role": "output", "path": "0"}), place) == (1, 1)
    made.write(layout.STEP_KIND, layout.STEP, 0, layout.STEP_BEGINS, *[0] * 8)
    while made._ring.next < 3:  # two and the reserve
        _add(made, nan=0)
    assert made.cursor.is_thin
    yield made
    made.close()


_looks = itertools.count(1)


def _look(spool: Spool, released: int) -> None:
    """As the agent does: it has looked, and deleted segments before that one."""
    for number in range(spool._ring.first, released):
        spool._ring.path(number).unlink()
    struct.pack_into("<QI", spool.header.bytes, layout.AGENT_OFFSET, next(_looks), released)


def _add(spool: Spool, nan: int) -> bool:
    """A tensor that is measured at once. Whether it is kept."""
    address = spool.reserve()
    assert address
    rows = records.measured(address, Name(1, 1, 1, 0, spool.place), Statistics(finite=3, nan=nan, least=1, greatest=1), None, None)
    return spool.advance(rows) is not None


def _defer(spool: Spool) -> int:
    """A tensor on a device: the address at which its rows will be written."""
    address = spool.reserve(wait=False)
    assert address
    spool.advance(2)
    return address


def _arrive(spool: Spool, address: int, nan: int) -> None:
    records.measured(address, Name(1, 1, 1, 0, spool.place), Statistics(finite=3, nan=nan, least=1, greatest=1), None, None, counts=True)


def _nan_counts(spool: Spool) -> list[int]:
    return [row[0] for kind, row in reading.read(spool.folder).rows if kind == "counts"]


def test_rows_that_are_still_on_a_device_are_kept_if_not_finite(nearly_full: Spool) -> None:
    spool, dropped, tensors = nearly_full, nearly_full.dropped, nearly_full.tensors
    waiting = [_defer(spool) for _ in range(4)]
    assert not _add(spool, nan=0) and _add(spool, nan=7)
    for nan, address in enumerate(waiting):
        _arrive(spool, address, nan)
    assert _nan_counts(spool) == [7]
    spool.keep_what_matters()
    assert _nan_counts(spool) == [7, 1, 2, 3]
    assert (spool.dropped - dropped, spool.tensors - tensors) == (2, 4)
    spool.keep_what_matters()
    assert (spool.dropped - dropped, spool.tensors - tensors) == (2, 4)


def test_what_the_agent_made_room_for_meanwhile_is_kept_whole(nearly_full: Spool) -> None:
    spool, tensors = nearly_full, nearly_full.tensors
    address = _defer(spool)
    _look(spool, released=2)
    assert _add(spool, nan=0), "there is room again"
    _arrive(spool, address, nan=0)
    spool.keep_what_matters()
    assert spool.tensors - tensors == 2
    rows = [kind for kind, _ in reading.read_rows(spool.folder, spool.epoch)]
    spool.write(layout.STEP_KIND, layout.STEP, 0, layout.STEP_ENDS, *[0] * 8)
    assert [kind for kind, _ in reading.read_rows(spool.folder, spool.epoch)] == [*rows, "step"], "no row is left open before it"


def test_more_than_can_wait_is_asked_for_at_once(nearly_full: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinned, "_MOST_WAITING", 2)
    spool = nearly_full
    waiting = [_defer(spool), _defer(spool)]
    dropped = spool.dropped
    assert spool.reserve(wait=False) == 0 and spool.dropped == dropped and spool.must_wait
    for address in waiting:
        _arrive(spool, address, nan=1)
    spool.keep_what_matters()
    assert not spool.must_wait and _defer(spool)


def test_a_tensor_whose_rows_never_come_leaves_none(nearly_full: Spool) -> None:
    spool = nearly_full
    assert spool.reserve(wait=False) and spool.reserve(wait=False)  # the measuring of the first raised
    spool.advance(2)
    spool.keep_what_matters()
    assert _nan_counts(spool) == []
