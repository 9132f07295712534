"""The digest of a tensor: a 64-bit hash of its elements' bytes in row-major order, which sees their order.

Bytes are taken in pages of 1,024 elements. A page is read as stripes of eight little-endian 64-bit words, the last filled up
with zeros. Word i of a stripe goes into chain i, which starts with START[i]: chain = rotate_left(chain + word * FACTOR, 31) * STEP.
The page's hash starts as mix(its bytes' number), and each chain in turn makes it mix(hash ^ chain). The digest is
mix(bytes * GOLDEN + the sum over pages of mix(hash + (number of the page from 1) * GOLDEN)). All modulo 2^64, mix being the
finaliser of SplitMix64. It depends on the bytes and the width of an element, not on shape or strides.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from tensortap._stats.sketch import GOLDEN, MIX, mix, shifted, signed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

PAGE_ELEMENTS: Final = 1024
FACTOR: Final = 0x243F6A8885A308D3
STEP: Final = 0x13198A2E03707345
START: Final = (
    0xA4093822299F31D0,
    0x082EFA98EC4E6C89,
    0x452821E638D01377,
    0xBE5466CF34E90C6C,
    0xC0AC29B7C97C50DD,
    0x3F84D5B5B5470917,
    0x9216D5D98979FB1B,
    0xD1310BA698DFB5AC,
)


def raw_bytes(tensor: Tensor) -> Tensor:
    """The elements' bytes in row-major order, a flat tensor of uint8."""
    import torch

    return tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def page_bytes(tensor: Tensor) -> int:
    """The bytes of a whole page."""
    return PAGE_ELEMENTS * tensor.element_size()


def digest(tensor: Tensor) -> int:
    """The digest of a tensor, by torch operations."""
    import torch

    content = raw_bytes(tensor)
    page = page_bytes(tensor)
    whole = content.numel() // page * page
    total = torch.zeros((), dtype=torch.int64, device=content.device)
    if whole:
        total = total + _pages(content[:whole].reshape(-1, page), 1)
    if whole < content.numel():
        total = total + _pages(content[whole:].reshape(1, -1), whole // page + 1)
    return of_pages(int(total.item()), content.numel())


def of_pages(total: int, count: int) -> int:
    """The digest of so many bytes, by the sum over their pages modulo 2^64."""
    word = (total + count * GOLDEN) % (1 << 64)
    for shift, factor in MIX:
        word = (word ^ word >> shift) * factor % (1 << 64)
    return word ^ word >> 31


def _pages(pages: Tensor, first: int) -> Tensor:
    """Sum of the hashes of equally long pages, each mixed with its number."""
    import torch

    number = torch.arange(first, first + pages.shape[0], device=pages.device)
    return mix(_hashes(pages) + number * signed(GOLDEN)).sum()


def _hashes(pages: Tensor) -> Tensor:
    import torch

    length = pages.shape[1]
    filled = torch.nn.functional.pad(pages, (0, -length % 64)).contiguous().view(torch.int64)
    stripes = filled.reshape(pages.shape[0], -1, 8)
    chains = start(pages.device).expand(pages.shape[0], 8)
    for at in range(stripes.shape[1]):
        chains = _turned(chains + stripes[:, at] * signed(FACTOR)) * signed(STEP)
    hashes = mix(torch.full((pages.shape[0],), length, dtype=torch.int64, device=pages.device))
    for chain in range(8):
        hashes = mix(hashes ^ chains[:, chain])
    return hashes


@cache
def start(device: torch.device) -> Tensor:
    import torch

    return torch.tensor([signed(start) for start in START], device=device)


def _turned(chain: Tensor) -> Tensor:
    return (chain << 31) | shifted(chain, 33)
