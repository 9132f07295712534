"""Rows of tensors that a device has measured become records of the spool: by the C kernel, by Python where there is none."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from torch import Tensor, int64

from tensortap._spool import layout, records
from tensortap._spool.records import Name
from tensortap._stats import digest, kernel

WORDS: Final = 32  # of a row, float64: the eleven statistics, from SKETCH on the sketch, DIGEST as an integer
SKETCH: Final = 12
DIGEST: Final = 28
_PENDING: Final = struct.Struct("<QqIIIIII")  # the kernel's tap_pending: the last word is whether it has a NaN or +Inf


class _Pending(NamedTuple):
    address: int
    bytes: int
    site: int
    layout: int
    seq: int
    flags: int
    place: int
    overflowed: int

    @property
    def name(self) -> Name:
        return Name(self.site, self.layout, self.seq, self.flags, self.place)


class Pendings:
    """What the records of a step's tensors say beside their rows, in the order of those."""

    def __init__(self, most: int) -> None:
        self._packed = ctypes.create_string_buffer(most * _PENDING.size)
        self.address = ctypes.addressof(self._packed)
        self.count = 0

    def add(self, address: int, name: Name, size: int) -> None:
        """A tensor of so many bytes, whose records go to the address."""
        _PENDING.pack_into(self._packed, self.count * _PENDING.size, address, size, name.site, name.layout, name.seq, name.flags, name.place, 0)
        self.count += 1

    def __iter__(self) -> Iterator[_Pending]:
        packed: Any = self._packed
        return map(_Pending._make, _PENDING.iter_unpack(memoryview(packed).cast("B")[: self.count * _PENDING.size]))


class Drain:
    """Writes the records of tensors whose rows have come to the host."""

    def __init__(self, sketched: bool, digested: bool, library: kernel.Kernel | None) -> None:
        self._sketched, self._digested, self._kernel = sketched, digested, library
        self._options = sketched * kernel.WANT_SKETCH | digested * kernel.WANT_DIGEST
        self.told: dict[int, set[int]] | None = None  # sites of a NaN or +Inf, by seq
        self.records = 2 + 2 * sketched + digested  # of a tensor: the one of counts always

    def write(self, rows: Tensor, pending: Pendings) -> set[int]:
        """Write all, and return the sites at which a NaN or +Inf is."""
        if self._kernel is None:
            found = self._by_python(rows, pending)
        elif self._kernel.drain(rows.data_ptr(), pending.address, pending.count, self._options):
            found = [one for one in pending if one.overflowed]
        else:
            return set()
        if self.told is not None:
            for one in found:
                self.told.setdefault(one.seq, set()).add(one.site)
        return {one.site for one in found}

    def unread(self, pending: Pendings) -> None:
        """Write that these could not be read after all."""
        for one in pending:
            records.unread(one.address, one.name, self.records)

    def _by_python(self, rows: Tensor, pending: Pendings) -> list[_Pending]:
        overflowed = []
        pages = rows.view(int64)[: pending.count, DIGEST].tolist()
        for one, row, total in zip(pending, rows[: pending.count].tolist(), pages, strict=True):
            if row[1] or row[2]:
                overflowed.append(one)
            sums = [_of_one_sign(word) for word in row[SKETCH:DIGEST]] if self._sketched else None
            hashed = (digest.of_pages(total, one.bytes), layout.DIGEST_TAP) if self._digested else None
            records.measured(one.address, one.name, _statistics(row), sums, hashed, counts=True)
        return overflowed


def _statistics(row: Sequence[float]) -> records.Statistics:
    finite, nan, above, below, zero, small = (int(word) for word in row[:6])
    return records.Statistics(
        finite=finite,
        nan=nan,
        positive_infinity=above,
        negative_infinity=below,
        zero=zero,
        subnormal=small,
        mean=_of_one_sign(row[6]),
        m2=max(0.0, row[7]),
        l1=row[8],
        least=row[9],
        greatest=row[10],
    )


def _of_one_sign(x: float) -> float:
    """Sums that overflow both ways give a NaN, whose sign is one here and another there."""
    return math.nan if math.isnan(x) else x
