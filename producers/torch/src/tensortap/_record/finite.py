"""Which elements of a tensor are not finite, in words and in numbers. -Inf is: models mask with it."""

from __future__ import annotations

import torch
from torch import Tensor

from tensortap import _torch_compat


def where(tensor: Tensor) -> Tensor | None:
    """Which elements are NaN or +Inf, as -Inf is how models mask; None for what has no such."""
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.layout is not torch.strided or tensor.is_meta:
        return None
    with _torch_compat.DisableTorchDispatch():
        found = tensor.detach()
        if found.is_complex():
            return ~torch.isfinite(found)
        wide = found if found.itemsize > 1 else found.float()
        return torch.isnan(wide) | torch.isposinf(wide)


def not_finite(tensor: Tensor) -> bool:
    """Whether any element is NaN or +Inf."""
    found = where(tensor)
    return found is not None and bool(found.any())


def told(what: str, tensor: Tensor) -> str:
    """How much of it, and where first; what says which tensor it is. To be called of one that is not finite."""
    found = where(tensor)
    assert found is not None
    first = found.nonzero()[0].tolist()
    value = tensor.detach()[tuple(first)].item()
    kind = "NaN" if value != value else "+Inf"
    return f"{kind} in {what}, {int(found.sum())} of {tensor.numel()} elements, the first at {first}"


def bad_rows(tensor: Tensor) -> list[int]:
    """The indices in the first dimension at which there is any."""
    found = where(tensor)
    if found is None or not found.dim():
        return []
    rows: list[int] = found.reshape(found.shape[0], -1).any(dim=1).nonzero().flatten().tolist()
    return rows
