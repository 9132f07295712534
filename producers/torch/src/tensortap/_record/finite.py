"""Which elements of a tensor are not finite, in words and in numbers. -Inf is: models mask with it."""

from __future__ import annotations

import torch
from torch import Tensor

from tensortap import _torch_compat
from tensortap._stats.measure import plain


def plain_or_none(tensor: Tensor) -> Tensor | None:
    """What the tensor stands for, as far as it can be read: of one that is sharded over ranks, this rank's part."""
    try:
        return plain(tensor)
    except RuntimeError:  # torch's, of one without storage
        return None


def where(tensor: Tensor) -> Tensor | None:
    """Which elements are NaN or +Inf, as -Inf is how models mask; None for what has no such, or cannot be read."""
    found = plain_or_none(tensor)
    if found is None or not (found.is_floating_point() or found.is_complex()):
        return None
    with _torch_compat.DisableTorchDispatch():
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
    values, found = plain_or_none(tensor), where(tensor)
    assert values is not None and found is not None
    first = found.nonzero()[0].tolist()
    value = values[tuple(first)].item()
    kind = "NaN" if value != value else "+Inf"
    return f"{kind} in {what}, {int(found.sum())} of {values.numel()} elements, the first at {first}"


def bad_rows(tensor: Tensor) -> list[int]:
    """The indices in the first dimension at which there is any."""
    found = where(tensor)
    if found is None or not found.dim():
        return []
    rows: list[int] = found.reshape(found.shape[0], -1).any(dim=1).nonzero().flatten().tolist()
    return rows
