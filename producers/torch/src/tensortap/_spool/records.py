"""Writes a tensor's records at an address of the spool: extensions first, the tensor's own record last."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

from tensortap._spool import layout

_CHECKSUM_MASK: Final = 0xFFFFFFFF ^ layout.KIND_MASK
_PLACE: Final = struct.Struct("<QI")
COUNTS_MEASURED: Final = (
    layout.MEASURED_NAN
    | layout.MEASURED_POSITIVE_INFINITY
    | layout.MEASURED_NEGATIVE_INFINITY
    | layout.MEASURED_ZERO
    | layout.MEASURED_SUBNORMAL
)
ALL_MEASURED: Final = (
    COUNTS_MEASURED
    | layout.MEASURED_MIN
    | layout.MEASURED_MAX
    | layout.MEASURED_MEAN
    | layout.MEASURED_M2
    | layout.MEASURED_L2
    | layout.MEASURED_L1
)


class Name(NamedTuple):
    """What the tensor's record says beside its statistics."""

    site: int
    layout: int
    seq: int
    flags: int
    place: int


@dataclass(kw_only=True)
class Statistics:
    """What is known of some of a tensor's elements; minimum, maximum and moments are of the finite ones."""

    finite: int = 0
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0
    zero: int = 0
    subnormal: int = 0
    mean: float = 0.0
    m2: float = 0.0
    l1: float = 0.0
    least: float = math.inf
    greatest: float = -math.inf

    def merge(self, other: Statistics) -> None:
        """Takes the other part's elements in, by Chan's rule."""
        both = self.finite + other.finite
        if other.finite:
            apart = other.mean - self.mean if self.finite else 0.0
            share = other.finite / both
            self.mean = self.mean + apart * share if self.finite else other.mean
            self.m2 += other.m2 + apart * apart * self.finite * share
        self.finite = both
        self.nan += other.nan
        self.positive_infinity += other.positive_infinity
        self.negative_infinity += other.negative_infinity
        self.zero += other.zero
        self.subnormal += other.subnormal
        self.l1 += other.l1
        self.least, self.greatest = min(self.least, other.least), max(self.greatest, other.greatest)


def of_number(value: float) -> Statistics:
    """Those of one number."""
    if math.isnan(value):
        return Statistics(nan=1)
    if math.isinf(value):
        return Statistics(positive_infinity=int(value > 0), negative_infinity=int(value < 0))
    return Statistics(finite=1, zero=int(not value), mean=value, l1=abs(value), least=value, greatest=value)


def place_of(epoch: int, segment: int) -> int:
    """What the checksums of a segment's records begin with beside their kind."""
    return crc32(_PLACE.pack(epoch, segment)) & _CHECKSUM_MASK


def commit_word(kind: int, place: int, content: bytes) -> int:
    """The commit word of a record of that kind in that place, by the bytes before the word."""
    return kind | crc32(content, kind | place) & _CHECKSUM_MASK


def store(address: int, kind: int, place: int, content: bytes) -> None:
    """Writes a record's fields, then its commit word."""
    ctypes.memmove(address, content, len(content))
    written = ctypes.string_at(address, layout.COMMIT_OFFSET)
    ctypes.c_uint32.from_address(address + layout.COMMIT_OFFSET).value = commit_word(kind, place, written)


def unsupported(address: int, name: Name) -> int:
    """Writes the record of a tensor that cannot be read."""
    unread(address, name, 1)
    return 1


def unread(address: int, name: Name, count: int) -> None:
    """Writes as many records as were promised of a tensor that could not be read after all."""
    for at in range(1, count):
        store(address + at * layout.RECORD_BYTES, layout.COUNTS_KIND, name.place, layout.COUNTS.pack(0, 0, 0, 0, 0.0, 0.0))
    flags = name.flags | layout.UNSUPPORTED
    content = layout.TENSOR.pack(name.site, name.layout, name.seq, flags, 0.0, 0.0, 0.0, 0.0, 0.0, 0, count - 1)
    store(address, layout.TENSOR_KIND, name.place, content)


def measured(
    address: int,
    name: Name,
    found: Statistics,
    sketch: Sequence[float] | None,
    digest: tuple[int, int] | None,
    *,
    counts: bool = False,
) -> int:
    """Writes a tensor's record with its extensions; the digest with its kind; counts even where there is no need, if asked.

    Returns how many records.
    """
    rows = _counts(address + layout.RECORD_BYTES, name.place, found, counts)
    if sketch is not None:
        rows += _sketch(address + (1 + rows) * layout.RECORD_BYTES, name.place, sketch)
    if digest is not None:
        store(address + (1 + rows) * layout.RECORD_BYTES, layout.DIGEST_KIND, name.place, layout.DIGEST.pack(*digest))
        rows += 1
    _tensor(address, name, found, rows)
    return 1 + rows


def _tensor(address: int, name: Name, found: Statistics, extra: int) -> None:
    flags = name.flags | (ALL_MEASURED if found.finite else COUNTS_MEASURED)
    least, greatest = (found.least, found.greatest) if found.finite else (0.0, 0.0)
    content = layout.TENSOR.pack(
        name.site,
        name.layout,
        name.seq,
        flags,
        float32(least),
        float32(greatest),
        found.mean,
        found.m2,
        found.l1,
        found.zero,
        extra,
    )
    store(address, layout.TENSOR_KIND, name.place, content)


def _counts(address: int, place: int, found: Statistics, always: bool) -> int:
    least, greatest = (found.least, found.greatest) if found.finite else (0.0, 0.0)
    counted = found.nan or found.positive_infinity or found.negative_infinity or found.subnormal
    if not always and not counted and float32(least) == least and float32(greatest) == greatest:
        return 0
    content = layout.COUNTS.pack(
        found.nan, found.positive_infinity, found.negative_infinity, found.subnormal, least, greatest
    )
    store(address, layout.COUNTS_KIND, place, content)
    return 1


def _sketch(address: int, place: int, sums: Sequence[float]) -> int:
    for first in (0, 8):
        content = layout.SKETCH.pack(*map(float32, sums[first : first + 8]), first)
        store(address + first // 8 * layout.RECORD_BYTES, layout.SKETCH_KIND, place, content)
    return 2


def float32(x: float) -> float:
    """The float32 nearest to x, infinite beyond its range."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)
