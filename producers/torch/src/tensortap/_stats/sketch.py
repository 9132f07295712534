"""The sketch of a tensor: 16 sums from which the distance of two tensors is estimated.

With g the row-major index of an element in the global shape (of complex elements: index of the real part 2g, of the
imaginary part 2g + 1), G = g >> 4, l = g & 15 and h = mix((G + 1) * 0x9E3779B97F4A7C15 + mix(0)) modulo 2^64, mix being the
finaliser of SplitMix64, the element is added to sum l XOR (h & 15), with its sign turned where bit 16 + l of h is set.
Elements that are not finite count as 0. Then E|s - t|^2 = |x - y|^2, and sketches of shards add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import Tensor

BUCKETS: Final = 16
MIX: Final = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)  # shifts and factors of the finaliser
_PIECE: Final = 1 << 20
GOLDEN: Final = 0x9E3779B97F4A7C15


def signed(word: int) -> int:
    """The 64-bit word as torch holds it."""
    return word - (1 << 64) if word >> 63 else word


def mix(word: Tensor) -> Tensor:
    """SplitMix64's finaliser, on int64 taken modulo 2^64."""
    for shift, factor in MIX:
        word = (word ^ shifted(word, shift)) * signed(factor)
    return word ^ shifted(word, 31)


def shifted(word: Tensor, by: int) -> Tensor:
    """Shifts right and fills with zeros, as for a number without sign."""
    return (word >> by) & ((1 << (64 - by)) - 1)


def sketch(numbers: Tensor, base: int = 0) -> Tensor:
    """The 16 sums, float64, of a flat tensor of real numbers whose first has the index `base`."""
    import torch

    sums = torch.zeros(BUCKETS, dtype=torch.float64, device=numbers.device)
    for first in range(0, numbers.numel(), _PIECE):
        _add(sums, numbers[first : first + _PIECE].to(torch.float64), base + first)
    return sums


def _add(sums: Tensor, numbers: Tensor, base: int) -> None:
    import torch

    index = torch.arange(base, base + numbers.numel(), device=numbers.device)
    lane = index & 15
    hashes = mix(((index >> 4) + 1) * signed(GOLDEN))
    negative = (hashes >> (16 + lane)) & 1
    finite = torch.where(torch.isfinite(numbers), numbers, torch.zeros((), dtype=numbers.dtype, device=numbers.device))
    sums.index_add_(0, lane ^ (hashes & 15), torch.where(negative == 1, -finite, finite))
