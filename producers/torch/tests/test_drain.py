"""Rows that came from a device become records: the kernel writes the bytes that Python writes."""

from __future__ import annotations

import ctypes
import math
from typing import Final

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from measuring import PLACE, read

from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._stats import kernel
from tensortap._stats.drain import DIGEST, SKETCH, WORDS, Drain, Pendings
from tensortap._stats.measure import MAX_ROWS

ROW_BYTES: Final = MAX_ROWS * layout.RECORD_BYTES
NEGATIVE_NAN: Final = -math.nan
# finite, NaN, +Inf, -Inf, zero, subnormal; mean, m2, l1, least, greatest
ROWS: Final = {
    "usual": (3, 0, 0, 0, 1, 0, 1.5, 2.5, 4.5, 0.0, 3.0),
    "empty": (0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, math.inf, -math.inf),
    "nothing finite": (0, 2, 1, 3, 0, 0, 0.0, 0.0, 0.0, math.inf, -math.inf),
    "NaN": (2, 1, 0, 0, 0, 0, 1.0, 0.0, 2.0, 1.0, 1.0),
    "+Inf": (2, 0, 1, 0, 0, 0, 1.0, 0.0, 2.0, 1.0, 1.0),
    "-Inf": (2, 0, 0, 1, 0, 0, 1.0, 0.0, 2.0, 1.0, 1.0),
    "many": (2.0**53, 0, 0, 0, 2.0**40, 2.0**33, 1e-9, 7e300, 1e308, -1e-45, 0.1),
    "negative zero": (1, 0, 0, 0, 1, 0, -0.0, -0.0, 0.0, -0.0, -0.0),
    "beyond float32": (2, 0, 0, 0, 0, 0, 0.0, math.inf, 1e300, -1e300, 3.4028235677973366e38),
    "sums that overflow both ways": (2, 0, 0, 0, 0, 0, NEGATIVE_NAN, NEGATIVE_NAN, math.inf, -1.7e308, 1.7e308),
    "rounding below 0": (2, 0, 0, 0, 0, 0, 1.0, -1e-20, 2.0, 1.0, 1.0),
}
SKETCHES: Final = ([0.0] * 16, [1.1, -1e39, 1e39, math.inf, -math.inf, math.nan, NEGATIVE_NAN, -0.0, 1e-46, *[3.0] * 7])
WANTED: Final = [(sketched, digested) for sketched in (False, True) for digested in (False, True)]


def rows_of(statistics: list[tuple[float, ...]], sketch: list[float], pages: int) -> torch.Tensor:
    """As they come from a device."""
    rows = torch.full((len(statistics), WORDS), math.nan, dtype=torch.float64)  # what nobody writes is never read
    rows[:, :11] = torch.tensor(statistics, dtype=torch.float64)
    rows[:, SKETCH:DIGEST] = torch.tensor(sketch, dtype=torch.float64)
    rows.view(torch.int64)[:, DIGEST] = pages
    return rows


def drained(rows: torch.Tensor, wanted: tuple[bool, bool], library: kernel.Kernel | None) -> tuple[list[bytes], set[int]]:
    """The records of each, and the sites at which a NaN or +Inf is."""
    memory, pending = ctypes.create_string_buffer(len(rows) * ROW_BYTES), Pendings(len(rows))
    for at in range(len(rows)):
        pending.add(ctypes.addressof(memory) + at * ROW_BYTES, Name(100 + at, 8, 9, layout.REUSED, PLACE), 5 * at)
    overflowed = Drain(*wanted, library).write(rows, pending)
    return [memory.raw[at * ROW_BYTES : (at + 1) * ROW_BYTES] for at in range(len(rows))], overflowed


def library() -> kernel.Kernel:
    found = kernel.load()
    assert found is not None, "make kernel"
    return found


@pytest.mark.parametrize("sketch", SKETCHES, ids=["zeros", "strange"])
@pytest.mark.parametrize("pages", [0, 1, -1, -(2**63)])
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_the_kernel_writes_what_python_writes(wanted: tuple[bool, bool], pages: int, sketch: list[float]) -> None:
    rows = rows_of(list(ROWS.values()), sketch, pages)
    by_kernel, by_python = drained(rows, wanted, library()), drained(rows, wanted, None)
    for name, ours, theirs in zip(ROWS, by_kernel[0], by_python[0], strict=True):
        assert ours == theirs, name
    assert by_kernel[1] == by_python[1] == {100 + at for at, name in enumerate(ROWS) if name in ("nothing finite", "NaN", "+Inf")}
    found = read(by_kernel[0][0], 2 + 2 * wanted[0] + wanted[1])
    assert (found.site, found.mean, found.counts and found.counts[0]) == (100, 1.5, 0)


@given(st.lists(st.floats(width=64), min_size=5, max_size=5), st.lists(st.integers(0, 2**53), min_size=6, max_size=6), st.lists(st.floats(width=64), min_size=16, max_size=16))
def test_it_does_for_any_numbers(moments: list[float], counts: list[int], sketch: list[float]) -> None:
    if any(math.isnan(extreme) for extreme in moments[3:]) or math.isnan(moments[2]):
        return  # an extreme is none, and a sum of magnitudes cannot be
    rows = rows_of([(*counts, *moments)], sketch, 7)
    assert drained(rows, (True, True), library()) == drained(rows, (True, True), None)


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_rows_that_cannot_be_read_say_so_and_are_complete(wanted: tuple[bool, bool]) -> None:
    memory, pending, drain = ctypes.create_string_buffer(ROW_BYTES + layout.RECORD_BYTES), Pendings(1), Drain(*wanted, library())
    pending.add(ctypes.addressof(memory), Name(7, 8, 9, 0, PLACE), 5)
    drain.unread(pending)
    assert read(memory.raw, drain.records).flags == layout.UNSUPPORTED
