"""A view of a tensor that was read in the step has its rows, unless something was written or other elements are in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._record import custom_ops
from tensortap._spool import layout


@pytest.fixture(autouse=True)
def no_custom_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process have asked for ops, behind which L0 reads anew."""
    monkeypatch.setattr(torch.ops, "_dir", [name for name in torch.ops._dir if name in custom_ops.TRUSTED])


class _Between(nn.Module):
    """The second module is given what `between` makes of the first one's output."""

    def __init__(self, between: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.second, self.between = nn.Linear(6, 6), nn.Identity(), between

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.second(self.between(self.first(x)))
        return result


def _second_input(folder: Path, level: Any, between: Callable[[Tensor], Tensor]) -> tuple[bool, tuple[object, ...]]:
    """Whether the rows of the second module's input were taken over, and its statistics."""
    model = _Between(between)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.arange(parameter.numel()).view(parameter.shape) - 3)
    with tensortap.tap(model, run="views", level=level, spool=folder):
        model(torch.arange(24.0).view(4, 6))
    (step,) = reading.only(folder).steps
    (value,) = [value for value in step.values if value.op.endswith("second.Identity.forward.0") and value.role == "input"]
    return bool(value.flags & layout.REUSED), tuple(value.row[4:10])


def _copied(between: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda tensor: between(tensor).clone(memory_format=torch.preserve_format)


def _written_through_a_view(tensor: Tensor) -> Tensor:
    with torch.no_grad():
        tensor.detach().view(-1)[0] = 1e6
    return tensor.view(-1)


def _of_other_type(tensor: Tensor) -> Tensor:
    return tensor.detach().view(torch.int32)


def _of_part(tensor: Tensor) -> Tensor:
    return tensor[:2]


def _at_its_place_through_data(tensor: Tensor) -> Tensor:
    return tensor.data.view(-1)


SAME: dict[str, Callable[[Tensor], Tensor]] = {
    "flat": lambda tensor: tensor.view(-1),
    "turned": lambda tensor: tensor.t(),
}
OTHERS = {"written": _written_through_a_view, "type": _of_other_type, "part": _of_part, "data": _at_its_place_through_data}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_view_has_the_rows_of_what_it_is_a_view_of(tmp_path: Path, name: str, level: Any) -> None:
    is_reused, found = _second_input(tmp_path / "view", level, SAME[name])
    assert is_reused and found == _second_input(tmp_path / "copy", level, _copied(SAME[name]))[1]


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_be_another_content_is_read(tmp_path: Path, name: str) -> None:
    is_reused, found = _second_input(tmp_path / "view", "L0", OTHERS[name])
    assert not is_reused and found == _second_input(tmp_path / "copy", "L0", _copied(OTHERS[name]))[1]
