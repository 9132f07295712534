"""The digest sees every bit and the order, whatever the layout; C, torch and a plain reference agree."""

from __future__ import annotations

import zlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from measuring import measure
from tensortap._spool import layout
from tensortap._stats.digest import FACTOR, START, STEP, digest
from tensortap._stats.measure import Measurer
from tensortap._stats.sketch import GOLDEN

MASK = (1 << 64) - 1
KERNEL = Measurer(1, False, True)
BY_TORCH = Measurer(1, False, True, by_torch=True)


def mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def reference(content: bytes, width: int) -> int:
    """The definition in tensortap/_stats/digest.py, word for word."""
    total, page = len(content) * GOLDEN, 1024 * width
    for number, first in enumerate(range(0, len(content), page), 1):
        total += mix((page_hash(content[first : first + page]) + number * GOLDEN) & MASK)
    return mix(total & MASK)


def page_hash(page: bytes) -> int:
    chains = list(START)
    filled = page + bytes(-len(page) % 64)
    for at in range(0, len(filled), 8):
        chain = (chains[at // 8 % 8] + int.from_bytes(filled[at : at + 8], "little") * FACTOR) & MASK
        chains[at // 8 % 8] = ((chain << 31 | chain >> 33) & MASK) * STEP & MASK
    hashed = mix(len(page))
    for chain in chains:
        hashed = mix(hashed ^ chain)
    return hashed


def content(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


@pytest.mark.parametrize("count", [0, 1, 7, 64, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.int64, torch.complex128])
def test_digest_is_the_definitions(dtype: torch.dtype, count: int) -> None:
    tensor = torch.randn(count).mul(50).to(dtype)
    expected = reference(content(tensor), tensor.element_size())
    assert measure(KERNEL, tensor).digest == (expected, layout.DIGEST_TAP)
    assert measure(BY_TORCH, tensor).digest == (expected, layout.DIGEST_TAP)


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 5000), st.data())
def test_digest_sees_order_and_every_bit(count: int, data: st.DataObject) -> None:
    tensor = torch.arange(count, dtype=torch.float32)
    one, other = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    swapped, flipped = tensor.clone(), tensor.clone()
    swapped[one], swapped[other] = tensor[other], tensor[one]
    flipped.view(torch.int32)[one] ^= 1 << data.draw(st.integers(0, 30))
    digests = {measure(KERNEL, x).digest for x in (tensor, swapped, flipped)}
    assert len(digests) == (2 if one == other else 3)


def test_signs_of_pairs_never_cancel() -> None:
    """Every pair of 64 elements with their signs turned, and every pair swapped, has a digest of its own."""
    tensor = torch.linspace(1, 2, 64)
    digests = {measure(KERNEL, tensor).digest}
    for one in range(64):
        for other in range(one):
            turned, swapped = tensor.clone(), tensor.clone()
            turned[[one, other]] *= -1
            swapped[[one, other]] = tensor[[other, one]]
            digests |= {measure(KERNEL, turned).digest, measure(KERNEL, swapped).digest}
    assert len(digests) == 1 + 2 * (64 * 63 // 2)


def test_zeros_of_other_lengths_and_signs_differ() -> None:
    tensors = [torch.zeros(count) for count in (0, 1, 2, 16, 17, 1024, 1025, 2048)] + [-torch.zeros(16)]
    assert len({measure(KERNEL, tensor).digest for tensor in tensors}) == len(tensors)


def test_shape_and_layout_do_not_count() -> None:
    tensor = torch.randn(50, 60)
    assert measure(KERNEL, tensor.t()).digest == measure(KERNEL, tensor.t().contiguous()).digest
    assert measure(KERNEL, tensor.view(3000)).digest == measure(KERNEL, tensor).digest
    assert digest(tensor.t()) == digest(tensor.t().contiguous()) != digest(tensor)


@pytest.mark.parametrize("by_torch", [False, True])
def test_msprobes_digest_is_zlibs(by_torch: bool) -> None:
    measurer = Measurer(2, False, False, crc32=True, by_torch=by_torch)
    for tensor in (torch.randn(5003), torch.randn(7, 9).t(), torch.empty(0), torch.randn(9).bfloat16()):
        assert measure(measurer, tensor).digest == (zlib.crc32(content(tensor)), layout.DIGEST_CRC32)
