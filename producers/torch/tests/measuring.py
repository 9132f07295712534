"""Reads back what a Measurer wrote."""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass

import torch

from tensortap._spool import layout
from tensortap._spool.records import Name, place_of
from tensortap._stats.measure import MAX_ROWS, Measurer

PLACE = place_of(5, 6)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A tensor's records."""

    site: int
    layout: int
    seq: int
    flags: int
    minimum: float
    maximum: float
    mean: float
    m2: float
    l1: float
    zero: int
    counts: tuple[int, int, int, int, float, float] | None
    sketch: list[float] | None
    digest: tuple[int, int] | None
    rows: int

    @property
    def exact(self) -> tuple[float, float]:
        """Minimum and maximum, from the extension where there is one."""
        return self.counts[4:] if self.counts else (self.minimum, self.maximum)

    @property
    def unusual(self) -> tuple[int, int, int, int]:
        """How many are NaN, +Inf, -Inf, subnormal."""
        return self.counts[:4] if self.counts else (0, 0, 0, 0)


def measure(measurer: Measurer, tensor: torch.Tensor, flags: int = 0) -> Reading:
    """Measures a tensor into memory of our own and reads the records."""
    memory = ctypes.create_string_buffer((MAX_ROWS + 1) * layout.RECORD_BYTES)
    rows = measurer.measure(tensor, ctypes.addressof(memory), Name(7, 8, 9, flags, PLACE))
    measurer.flush()
    return read(memory.raw, rows)


def kind_of(record: bytes) -> int:
    """The kind of a committed record, whose checksum must be right."""
    word = int.from_bytes(record[layout.COMMIT_OFFSET :], "little")
    kind = word & layout.KIND_MASK
    assert word == kind | zlib.crc32(record[: layout.COMMIT_OFFSET], kind | PLACE) & ~layout.KIND_MASK
    return kind


def read(memory: bytes, rows: int) -> Reading:
    """The records at the beginning of the memory, all of which must be committed, and nothing behind them touched."""
    records = [memory[at : at + layout.RECORD_BYTES] for at in range(0, len(memory), layout.RECORD_BYTES)]
    kinds = [kind_of(record) if any(record) else 0 for record in records]
    assert kinds[0] == layout.TENSOR_KIND
    assert all(kinds[1:rows])
    assert not any(b"".join(records[rows:]))
    site, shape, seq, flags, least, greatest, mean, m2, l1, zero, extra = layout.TENSOR.unpack_from(records[0])
    assert extra == rows - 1
    counts, sketch, digest = None, [], None
    for kind, record in zip(kinds[1:rows], records[1:rows], strict=True):
        if kind == layout.COUNTS_KIND:
            counts = layout.COUNTS.unpack_from(record)
        elif kind == layout.SKETCH_KIND:
            *sums, first = layout.SKETCH.unpack_from(record)
            assert first == len(sketch)
            sketch += sums
        else:
            assert kind == layout.DIGEST_KIND
            digest = layout.DIGEST.unpack_from(record)
    return Reading(
        site=site,
        layout=shape,
        seq=seq,
        flags=flags,
        minimum=least,
        maximum=greatest,
        mean=mean,
        m2=m2,
        l1=l1,
        zero=zero,
        counts=counts,
        sketch=sketch or None,
        digest=digest,
        rows=rows,
    )
