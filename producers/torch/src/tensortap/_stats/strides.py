"""How a tensor's elements lie in memory, told to the C kernel so that it reads them where they are."""

from __future__ import annotations

import ctypes
import math
from typing import Final, NamedTuple

from tensortap._stats.kernel import MOST_DIMENSIONS, View

_MOST_KEPT: Final = 4096


class Reading(NamedTuple):
    """How to read a tensor: so many elements, with a view (its address; 0 when they follow each other)."""

    elements: int
    address: int
    view: View | None


Dimensions = list[tuple[int, int]]


def any_order(shape: tuple[int, ...], stride: tuple[int, ...]) -> Reading | None:
    """Reads in the order of memory, and equal elements of an expanded tensor once."""
    dimensions = [(size, step) for size, step in zip(shape, stride, strict=True) if size != 1 and step != 0]
    repeat = math.prod(size for size, step in zip(shape, stride, strict=True) if step == 0)
    dimensions.sort(key=lambda dimension: -dimension[1])
    return _reading(_merged(dimensions), repeat)


def row_major(shape: tuple[int, ...], stride: tuple[int, ...]) -> Reading | None:
    """Reads in row-major order."""
    return _reading(_merged([(size, step) for size, step in zip(shape, stride, strict=True) if size != 1]), 1)


def _merged(dimensions: Dimensions) -> Dimensions:
    merged: Dimensions = []
    for size, step in dimensions:
        if merged and merged[-1][1] == size * step:
            merged[-1] = (merged[-1][0] * size, step)
        else:
            merged.append((size, step))
    return merged or [(1, 1)]


def _reading(dimensions: Dimensions, repeat: int) -> Reading | None:
    """None when the kernel cannot read it so."""
    if len(dimensions) > MOST_DIMENSIONS:
        return None
    count = math.prod(size for size, _ in dimensions)
    if repeat == 1 and len(dimensions) == 1 and dimensions[0][1] == 1:
        return Reading(count, 0, None)
    view = View(dimensions=len(dimensions), repeat=repeat)
    for at, (size, step) in enumerate(dimensions):
        view.size[at], view.stride[at] = size, step
    return Reading(count, ctypes.addressof(view), view)


class Readings:
    """Readings by shape and stride, made once each."""

    def __init__(self, ordered: bool) -> None:
        """With `ordered`, in row-major order."""
        self._plan = row_major if ordered else any_order
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Reading | None] = {}

    def of(self, shape: tuple[int, ...], stride: tuple[int, ...]) -> Reading | None:
        """How to read a tensor of that shape and stride; None when the kernel cannot."""
        key = (shape, stride)
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = self._plan(shape, stride)
        return self._known[key]
