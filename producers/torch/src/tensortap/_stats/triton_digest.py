"""The digest on CUDA: a launch for a tensor's whole pages and one for the rest, whatever its size. `_stats.digest` defines it."""

# As in triton_measure: the language inside kernels is Triton's.
# pyright: reportOperatorIssue=false, reportGeneralTypeIssues=false

from typing import Any, Final

import triton
import triton.language as tl
from torch import Tensor, int64

from tensortap._stats import digest, sketch
from tensortap._stats.triton_mix import mixed

_PAGES: Final = 32  # of one program
_FACTOR: Final = tl.constexpr(digest.FACTOR)
_STEP: Final = tl.constexpr(digest.STEP)
_GOLDEN: Final = tl.constexpr(sketch.GOLDEN)


@triton.jit
def _bytes_as_words(content, first, count):  # type: ignore[no-untyped-def]
    """The little-endian words that begin at those bytes, zeros behind the last byte."""
    byte = tl.arange(0, 8)
    place = first[:, :, None] + byte[None, None, :]
    found = tl.load(content + place, mask=place < count, other=0).to(tl.uint64)
    return tl.sum(found << (8 * byte).to(tl.uint64)[None, None, :], axis=2)


@triton.jit
def _pages(content, first, count, page_bytes, start, out, PAGES: tl.constexpr, ALIGNED: tl.constexpr):  # type: ignore[no-untyped-def]
    """Adds the mixed hashes of pages, the first of that number from 0, to out; aligned ones are whole, too."""
    page = first + tl.program_id(0).to(tl.int64) * PAGES + tl.arange(0, PAGES)
    chain = tl.arange(0, 8)
    begin = page * page_bytes
    length = tl.minimum(count - begin, page_bytes)
    chains = tl.load(start + chain).to(tl.uint64, bitcast=True)[None, :] + tl.zeros((PAGES, 8), tl.uint64)
    for at in range(0, page_bytes, 64):
        there = (at < length)[:, None]
        if ALIGNED:
            place = (begin + at)[:, None] // 8 + chain[None, :]
            word = tl.load(content + place, mask=there, other=0).to(tl.uint64, bitcast=True)
        else:
            word = _bytes_as_words(content, (begin + at)[:, None] + 8 * chain[None, :], count)
        turned = chains + word * _FACTOR
        chains = tl.where(there, ((turned << 31) | (turned >> 33)) * _STEP, chains)
    hashed = mixed(length.to(tl.uint64))
    for nth in tl.static_range(8):
        hashed = mixed(hashed ^ tl.sum(tl.where(chain[None, :] == nth, chains, 0), axis=1))
    total = tl.sum(tl.where(length > 0, mixed(hashed + (page + 1).to(tl.uint64) * _GOLDEN), 0))
    tl.atomic_add(out, total.to(tl.int64, bitcast=True))


def add_pages(content: Tensor, page_bytes: int, out: Tensor) -> None:
    """Enqueues the sum over the pages of a flat uint8 tensor; out is an int64 of its device, to which the sum is added."""
    start, count = digest.start(content.device), content.numel()
    whole = count // page_bytes if content.data_ptr() % 8 == 0 else 0
    launch: Any
    if whole:
        launch = _pages[(triton.cdiv(whole, _PAGES),)]
        launch(content[: whole * page_bytes].view(int64), 0, whole * page_bytes, page_bytes, start, out, PAGES=_PAGES, ALIGNED=True)
    rest = triton.cdiv(count, page_bytes) - whole
    if rest:
        launch = _pages[(triton.cdiv(rest, _PAGES),)]
        launch(content, whole, count, page_bytes, start, out, PAGES=_PAGES, ALIGNED=False)
