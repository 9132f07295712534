"""Statistics and sketches on CUDA: a tensor's row stays in a bank on its device until the end of the step.

Nothing is waited for and no tensor is kept: one kernel is enqueued on the stream that is current, and the rows of a
bank come over in one copy. Imported only where there is a CUDA tensor (or, in tests, Triton's interpreter).
"""

# The language inside kernels is Triton's, not Python's. Annotations are no text here: Triton 3.0 knows constants by them.
# pyright: reportOperatorIssue=false, reportGeneralTypeIssues=false

from typing import Any, Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from tensortap._stats import triton_digest
from tensortap._stats.drain import DIGEST, WORDS
from tensortap._stats.streams import Streams
from tensortap._stats.triton_read import COMPLEX, elements, number, part
from tensortap._stats.triton_mix import mixed

_TILE: Final = 2048
_PROGRAMS: Final = 512


@triton.jit
def _sketch_tile(data, table, start, count, TILE: tl.constexpr, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    """The 16 sums of a tile: each group of 16 numbers is read in the order of its buckets, and added up."""
    group = start // 16 + tl.arange(0, TILE // 16)
    hashed = mixed((group.to(tl.uint64) + 1) * 0x9E3779B97F4A7C15)
    bucket = tl.arange(0, 16).to(tl.int64)
    lane = bucket[None, :] ^ (hashed & 15).to(tl.int64)[:, None]
    place = group[:, None] * 16 + lane
    x = part(data, table, place, place < count, KIND)
    negative = (hashed[:, None] >> (16 + lane).to(tl.uint64)) & 1
    x = tl.where(tl.abs(x) < float("inf"), x, 0.0)
    return tl.sum(tl.where(negative == 1, -x, x), axis=0)


@triton.jit
def _total(partials, programs, row, SKETCHED: tl.constexpr, MOST: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """One program makes the tensor's row of all partial ones, which others wrote: no cache of its own may answer."""
    nth = tl.arange(0, MOST)
    there = nth < programs
    at = partials + nth * WIDTH
    finite = tl.load(at, mask=there, other=0.0, volatile=True)
    mean = tl.load(at + 6, mask=there, other=0.0, volatile=True)
    total = tl.sum(finite)
    centre = tl.sum(mean * (finite / tl.maximum(total, 1.0)))
    apart = mean - centre
    tl.store(row, total)
    for word in tl.static_range(1, 6):
        tl.store(row + word, tl.sum(tl.load(at + word, mask=there, other=0.0, volatile=True)))
    tl.store(row + 6, centre)
    squares = tl.load(at + 7, mask=there, other=0.0, volatile=True)
    tl.store(row + 7, tl.sum(squares + tl.where(there, apart * apart * finite, 0.0)))
    tl.store(row + 8, tl.sum(tl.load(at + 8, mask=there, other=0.0, volatile=True)))
    tl.store(row + 9, tl.min(tl.load(at + 9, mask=there, other=float("inf"), volatile=True)))
    tl.store(row + 10, tl.max(tl.load(at + 10, mask=there, other=float("-inf"), volatile=True)))
    if SKETCHED:
        for bucket in tl.static_range(12, 28):
            tl.store(row + bucket, tl.sum(tl.load(at + bucket, mask=there, other=0.0, volatile=True)))


@triton.jit
def _measure(  # type: ignore[no-untyped-def]
    data,
    table,
    count,
    normal,
    partials,
    done,
    row,
    TILE: tl.constexpr,
    KIND: tl.constexpr,
    SKETCHED: tl.constexpr,
    ALONE: tl.constexpr,
    MOST: tl.constexpr,
    WIDTH: tl.constexpr,
    DIGEST_AT: tl.constexpr,
):
    """Each program measures every so many-th tile and merges them by Chan's rule; the last to be done makes the row of all.

    One that is alone writes the row itself. `done` is 0 before and after.
    """
    finite = tl.full((), 0.0, tl.float64)
    nan = tl.full((), 0.0, tl.float64)
    above = tl.full((), 0.0, tl.float64)
    below = tl.full((), 0.0, tl.float64)
    zero = tl.full((), 0.0, tl.float64)
    small = tl.full((), 0.0, tl.float64)
    mean = tl.full((), 0.0, tl.float64)
    m2 = tl.full((), 0.0, tl.float64)
    l1 = tl.full((), 0.0, tl.float64)
    least = tl.full((), float("inf"), tl.float64)
    greatest = tl.full((), float("-inf"), tl.float64)
    sums = tl.zeros((16,), tl.float64)
    first = tl.program_id(0).to(tl.int64) * TILE
    step = tl.num_programs(0).to(tl.int64) * TILE
    for start in range(first, count, step):
        place = start + tl.arange(0, TILE)
        inside = place < count
        x = number(data, table, place, inside, KIND)
        size = tl.abs(x)
        usual = inside & (size < float("inf"))
        n = tl.sum(usual.to(tl.float64))
        divisor = tl.maximum(n, 1.0)
        kept = tl.where(usual, x, 0.0)
        centre = tl.sum(kept) / divisor
        apart = tl.where(usual, x - centre, 0.0)
        rest = tl.sum(apart)
        between = tl.where(finite > 0, centre + rest / divisor - mean, 0.0)
        share = n / tl.maximum(finite + n, 1.0)
        mean = tl.where(finite > 0, mean + between * share, centre + rest / divisor)
        square = tl.sum(apart * apart)
        m2 += tl.where(square < float("inf"), square - rest / divisor * rest, square) + between * between * finite * share
        finite += n
        l1 += tl.sum(tl.abs(kept))
        nan += tl.sum((inside & (x != x)).to(tl.float64))
        above += tl.sum((inside & (x == float("inf"))).to(tl.float64))
        below += tl.sum((inside & (x == float("-inf"))).to(tl.float64))
        zero += tl.sum((inside & (x == 0)).to(tl.float64))
        small += tl.sum((usual & (x != 0) & (size < normal)).to(tl.float64))
        least = tl.minimum(least, tl.min(tl.where(usual, x, float("inf"))))
        greatest = tl.maximum(greatest, tl.max(tl.where(usual, x, float("-inf"))))
        if SKETCHED:
            if KIND == COMPLEX:
                sums += _sketch_tile(data, table, 2 * start, 2 * count, TILE, KIND)
                sums += _sketch_tile(data, table, 2 * start + TILE, 2 * count, TILE, KIND)
            else:
                sums += _sketch_tile(data, table, start, count, TILE, KIND)
    if ALONE:
        out = row
    else:
        out = partials + tl.program_id(0) * WIDTH
    tl.store(out, finite)
    tl.store(out + 1, nan)
    tl.store(out + 2, above)
    tl.store(out + 3, below)
    tl.store(out + 4, zero)
    tl.store(out + 5, small)
    tl.store(out + 6, mean)
    tl.store(out + 7, m2)
    tl.store(out + 8, l1)
    tl.store(out + 9, least)
    tl.store(out + 10, greatest)
    if SKETCHED:
        tl.store(out + 12 + tl.arange(0, 16), sums)
    if ALONE:
        tl.store(row + DIGEST_AT, 0.0)  # the bits of the integer 0, to which a digest's pages are added
    else:
        tl.debug_barrier()  # all threads of this program have stored before it counts
        if tl.atomic_add(done, 1) == tl.num_programs(0) - 1:
            _total(partials, tl.num_programs(0), row, SKETCHED, MOST, WIDTH)
            tl.store(row + DIGEST_AT, 0.0)
            tl.store(done, 0)


class Launcher:
    """Enqueues the measuring of tensors of one device."""

    def __init__(self, device: torch.device, streams: Streams) -> None:
        self._device, self._streams = device, streams
        self._scratch: dict[int, tuple[Tensor, Tensor]] = {}  # by stream: on one, one tensor is measured after the other

    def add(self, row: Tensor, flat: Tensor, normal: float, sketched: bool, hashed: Tensor | None, page_bytes: int) -> None:
        """Enqueues, on the current stream, the measuring of contiguous elements into a row, and the hashing of pages of bytes."""
        count, given = flat.numel(), elements(flat)
        programs = max(1, min(_PROGRAMS, triton.cdiv(count, _TILE)))
        partials, done = self._scratch_here()
        launch: Any = _measure[(programs,)]
        launch(
            given.data,
            given.table,
            count,
            normal,
            partials,
            done,
            row,
            TILE=_TILE,
            KIND=given.kind,
            SKETCHED=sketched,
            ALONE=programs == 1,
            MOST=_PROGRAMS,
            WIDTH=WORDS,
            DIGEST_AT=DIGEST,
        )
        if hashed is not None:
            triton_digest.add_pages(hashed, page_bytes, row.view(torch.int64)[DIGEST:])

    @torch.inference_mode(False)  # whose tensors cannot be written once it has ended
    def _scratch_here(self) -> tuple[Tensor, Tensor]:
        stream = self._streams.here()
        found = self._scratch.get(stream)
        if found is None:
            partials = torch.empty((_PROGRAMS, WORDS), dtype=torch.float64, device=self._device)
            found = self._scratch[stream] = partials, torch.zeros(1, dtype=torch.int32, device=self._device)
        return found
