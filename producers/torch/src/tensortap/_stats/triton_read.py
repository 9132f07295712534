"""Elements of every dtype inside Triton's kernels: read where they lie, as float64."""

# As in triton_measure: the language inside kernels is Triton's, and annotations are no text.
# pyright: reportOperatorIssue=false, reportGeneralTypeIssues=false

from functools import cache
from typing import Final, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

PLAIN: Final = tl.constexpr(0)  # what Triton converts by itself
UNSIGNED: Final = tl.constexpr(1)  # in tensors of signed integers of their width
EIGHT_BITS: Final = tl.constexpr(2)  # floating point, looked up in a table
COMPLEX: Final = tl.constexpr(3)  # pairs of real numbers

_SIGNED: Final = {
    getattr(torch, f"uint{bits}"): getattr(torch, f"int{bits}") for bits in (16, 32, 64) if hasattr(torch, f"uint{bits}")
}
_PARTS: Final = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}


class Elements(NamedTuple):
    """A tensor's elements as a kernel gets them."""

    data: Tensor
    kind: int
    table: Tensor  # of the 256 numbers; where there is none the data, for a kernel wants some pointer


def elements(flat: Tensor) -> Elements:
    """How a kernel reads contiguous elements. Nothing is copied. Raises RuntimeError where it cannot."""
    if flat.dtype is torch.bool:
        flat = flat.view(torch.uint8)
    if flat.dtype in _PARTS:
        parts = flat.view(_PARTS[flat.dtype])
        return Elements(parts, COMPLEX.value, parts)
    if flat.dtype in _SIGNED:
        words = flat.view(_SIGNED[flat.dtype])
        return Elements(words, UNSIGNED.value, words)
    if flat.is_floating_point() and flat.element_size() == 1:
        return Elements(flat.view(torch.uint8), EIGHT_BITS.value, _table(flat.dtype, flat.device))
    return Elements(flat, PLAIN.value, flat)


@cache
def _table(dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        numbers = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float64)
        return numbers.to(device, non_blocking=True)


@triton.jit
def part(data, table, place, inside, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    """The real numbers at those places; of complex elements either part has a place of its own."""
    raw = tl.load(data + place, mask=inside, other=0)
    if KIND == EIGHT_BITS:
        x = tl.load(table + raw.to(tl.int32), mask=inside, other=0.0)
    elif KIND == UNSIGNED:
        word = raw.to(tl.int64)
        if data.dtype.element_ty == tl.int16:
            word = word & 0xFFFF
        if data.dtype.element_ty == tl.int32:
            word = word & 0xFFFFFFFF
        x = ((word >> 32) & 0xFFFFFFFF).to(tl.float64) * 4294967296.0 + (word & 0xFFFFFFFF).to(tl.float64)
    else:
        x = raw.to(tl.float64)
    return x


@triton.jit
def number(data, table, place, inside, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    """The numbers that are measured: of complex elements the magnitudes in their own precision, NaN where either part is."""
    if KIND == COMPLEX:
        real = tl.abs(part(data, table, 2 * place, inside, KIND))
        imaginary = tl.abs(part(data, table, 2 * place + 1, inside, KIND))
        greater = tl.maximum(real, imaginary)
        if data.dtype.element_ty == tl.float64:
            ratio = tl.minimum(real, imaginary) / tl.where(greater > 0, greater, 1.0)
            x = greater * tl.sqrt(1.0 + ratio * ratio)
        else:
            x = tl.sqrt(real * real + imaginary * imaginary).to(tl.float32).to(tl.float64)
        x = tl.where(greater == float("inf"), float("inf"), x)
        x = tl.where((real != real) | (imaginary != imaginary), float("nan"), x)
    else:
        x = part(data, table, place, inside, KIND)
    return x
