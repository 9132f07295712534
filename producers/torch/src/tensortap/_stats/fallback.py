"""Statistics by plain torch operations: where the C kernel is missing, and on devices for which there is no kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tensortap._spool.records import Statistics

if TYPE_CHECKING:
    from torch import Tensor

_PIECE: Final = 1 << 20


def statistics(tensor: Tensor) -> Statistics:
    """Statistics of a tensor's elements; of complex ones, those of their magnitudes."""
    total = Statistics()
    normal = least_normal(tensor)
    flat = tensor.detach().reshape(-1)
    for first in range(0, flat.numel(), _PIECE):
        total.merge(_piece(real(flat[first : first + _PIECE]), normal))
    return total


def least_normal(tensor: Tensor) -> float:
    """The least normal number of the tensor's dtype; 0 where there are no subnormal ones."""
    import torch

    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.dtype is getattr(torch, "float8_e8m0fnu", None):
        return 0.0
    return float(torch.finfo(tensor.dtype).smallest_normal)


def numbers(tensor: Tensor) -> Tensor:
    """The elements as flat real numbers in row-major order, for the sketch: real and imaginary parts of complex ones."""
    import torch

    flat = tensor.detach().resolve_conj().resolve_neg().reshape(-1)
    if flat.dtype is torch.complex32:
        flat = flat.to(torch.complex64)
    return torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat


def real(piece: Tensor) -> Tensor:
    """Flat elements in float64; of complex ones the magnitudes, NaN where either part is."""
    import torch

    if piece.dtype is torch.complex32:
        piece = piece.to(torch.complex64)
    if not piece.is_complex():
        return piece.to(torch.float64)
    parts = torch.view_as_real(piece.resolve_conj())
    magnitudes = torch.hypot(parts[:, 0], parts[:, 1]).to(torch.float64)
    return magnitudes.masked_fill(torch.isnan(parts).any(dim=1), float("nan"))


def _piece(x: Tensor, normal: float) -> Statistics:
    import torch

    finite = x[torch.isfinite(x)]
    found = Statistics(
        finite=finite.numel(),
        nan=int(torch.isnan(x).sum()),
        positive_infinity=int(torch.isposinf(x).sum()),
        negative_infinity=int(torch.isneginf(x).sum()),
        zero=int((finite == 0).sum()),
        subnormal=int(((finite != 0) & (finite.abs() < normal)).sum()),
    )
    if found.finite:
        found.mean = float(finite.mean())
        apart = finite - found.mean
        rest, square = float(apart.sum()), float(apart.square().sum())
        found.m2 = math.inf if math.isinf(square) else max(0.0, square - rest / found.finite * rest)
        found.l1 = float(finite.abs().sum())
        found.least, found.greatest = float(finite.min()), float(finite.max())
    return found
