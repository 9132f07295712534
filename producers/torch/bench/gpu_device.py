"""The device that is checked: a GPU, or Triton's interpreter in its place, to which tensors of the CPU are then given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tensortap._record import recorder, tensor_rows
from tensortap._record.tensor_layouts import Layouts
from tensortap._spool import records
from tensortap._spool.records import Name
from tensortap._stats.measure import Measurer, plain


class Interpreted(Measurer):
    """Measures tensors of the CPU as it does those of a GPU."""

    def measure(self, tensor: Tensor, address: int, name: Name) -> int:
        """As Measurer does."""
        found, device = plain(tensor), self._on_device()
        if device is None:
            raise RuntimeError("there is no Triton")
        return records.unsupported(address, name) if found is None else device.add(found, address, name)

    def plan(self, *_: object) -> None:
        """Nothing is left to the C kernel."""


class _Layouts(Layouts):
    """Takes rows of tensors to be pending until the end of the step, as those of a GPU are."""

    def _define(self, key: object, *rest: Any) -> Any:
        known = super()._define(key, *rest)._replace(on_cpu=False)
        if known.number:
            self._layouts[key] = known
        return known


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where tensors lie, and what measures them."""

    name: str
    is_interpreted: bool

    def measurer(self, sketch: bool, digest: bool) -> Measurer:
        """What measures tensors of the device."""
        kind = Interpreted if self.is_interpreted else Measurer
        return kind(1, sketch, digest)

    @contextmanager
    def taps(self) -> Iterator[None]:
        """Taps made within measure tensors of the device."""
        if not self.is_interpreted:
            yield
            return
        before = recorder.Measurer, tensor_rows.Layouts
        recorder.Measurer, tensor_rows.Layouts = Interpreted, _Layouts  # type: ignore[misc]
        try:
            yield
        finally:
            recorder.Measurer, tensor_rows.Layouts = before  # type: ignore[misc]

    def wait(self) -> None:
        """Until the device has done all."""
        if not self.is_interpreted:
            torch.cuda.synchronize()
