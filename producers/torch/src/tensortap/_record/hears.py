"""What may hear of ops and their values beside the rows that are written of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import torch

from tensortap._record.op_names import Op


class Hears(Protocol):
    """What hears of each op and its values, where somebody asked for more than to record them."""

    def given(self, op: Op, seq: int, args: Any, kwargs: Mapping[str, Any] | None, function: Any) -> None:
        """An op is given that, and is about to run. The function, where it is one that can be called again."""

    def made(self, op: Op, seq: int, result: Any) -> None:
        """It has made that."""

    def loss(self, op: Op, seq: int, losses: Iterable[Any]) -> None:
        """Backward begins from that."""

    def gradient_of_output(self, op: Op, seq: int, place: str, gradient: torch.Tensor | None) -> None:
        """A module's backward is given that."""

    def gradient_of_parameter(self, op: Op, seq: int, name: str, gradient: torch.Tensor) -> None:
        """It has come."""

    def gradients(self, op: Op, seq: int, given: Iterable[object] | None, made: Iterable[object] | None) -> None:
        """A backward op was given, and made, as far as it is known now."""
