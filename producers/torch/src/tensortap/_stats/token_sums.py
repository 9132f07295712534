"""Norm, mean and four sums of each token's elements, from which the distance of two tokens is estimated."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import torch
from torch import Tensor

from tensortap._stats.sketch import GOLDEN, mix, signed

SUMS: Final = 4
SCALE: Final = 4096.0  # steps of a sum within a norm
_MOST: Final = 32767


def sums_of(tokens: Tensor) -> Tensor:
    """Of each row of the last dimension: norm, mean, the sums, and how many elements are not finite. Stays on its device."""
    with torch.no_grad(), torch.autocast(tokens.device.type, enabled=False):
        # float64 on CUDA, whose products of float32 may be cut to fewer bits
        rows = tokens.detach().reshape(-1, tokens.shape[-1]).to(torch.float64 if tokens.is_cuda else torch.float32)
        norm = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        sums = rows @ _signs(rows.shape[1], rows.device, rows.dtype)
        if rows.is_cpu and bool(norm.isfinite().all()):
            wrong = torch.zeros_like(norm)
        else:
            wrong = rows.shape[1] - rows.isfinite().sum(1, keepdim=True)
        return torch.cat((norm, sums, wrong.to(norm.dtype)), 1)


def packed(sums: Tensor) -> list[tuple[float, ...]]:
    """The same as a record has them: norm, mean, two words of sums. A token that is not finite has a count in the first word."""
    norm, mean, wrong = sums[:, 0].float(), sums[:, 1].float(), sums[:, -1].long()
    finite = norm.isfinite()
    share = (sums[:, 2 : 2 + SUMS] / sums[:, :1] * SCALE).nan_to_num(0.0, 0.0, 0.0).round().clamp(-_MOST, _MOST).long() & 0xFFFF
    low = torch.where(finite, share[:, 0] | share[:, 1] << 16, wrong)
    high = torch.where(finite, share[:, 2] | share[:, 3] << 16, torch.zeros_like(wrong))
    return list(zip(norm.tolist(), mean.tolist(), low.tolist(), high.tolist(), strict=True))


@lru_cache(maxsize=32)
def _signs(width: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Of each element: its share of the mean, and its sign in each sum, of a hash of its index."""
    mixed = mix(torch.arange(1, width + 1) * signed(GOLDEN))
    columns = [torch.full((width,), 1.0 / width, dtype=torch.float64)]
    columns += [1.0 - 2.0 * (mixed >> 16 + at & 1).double() for at in range(SUMS)]
    return torch.stack(columns, 1).to(device, dtype)
