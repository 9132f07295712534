"""An operator between a number and a tensor has the name of the method that Python calls for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from torch import nn

import tensortap

HALF = 0.5


class _Held:
    scale = 3.0

    def __init__(self) -> None:
        self.factor, self.inner = 0.25, _Same()


class _Same:
    """A call that gives what it is given, and says that it was."""

    def __call__(self, value: Any) -> Any:
        return value


held, same = _Held(), _Same()


def _local(x: Any) -> Any:
    factor = 2.0
    return factor * held.inner(x) * factor


EXPRESSIONS: list[Callable[[Any], Any]] = [
    lambda x: 2 * x,
    lambda x: x * 2,
    lambda x: 2 + same(x),
    lambda x: same(x) + 2,
    lambda x: x + same(2),
    lambda x: HALF * same(same(x)),
    lambda x: held.factor * held.inner(x),
    lambda x: held.inner(x) * held.factor,
    lambda x: x * x + 1,
    lambda x: 1 + x * 2 * same(x),
    _local,
    lambda x: [2.0, 3.0][-1] * x,
]


class _Spy:
    """Notes which of its methods Python calls."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def _note(self, name: str) -> _Spy:
        self.called.append(f"Tensor.{name}")
        return self

    def __add__(self, other: object) -> _Spy:
        return self._note("__add__")

    def __radd__(self, other: object) -> _Spy:
        return self._note("__radd__")

    def __mul__(self, other: object) -> _Spy:
        return self._note("__mul__")

    def __rmul__(self, other: object) -> _Spy:
        return self._note("__rmul__")


class _Evaluates(nn.Module):
    def __init__(self, expression: Callable[[Any], Any]) -> None:
        super().__init__()
        self.expression = expression

    def forward(self, x: torch.Tensor) -> Any:
        return self.expression(x)


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_operators_have_the_names_of_the_methods_that_python_calls(number: int, tmp_path: Path) -> None:
    spy = _Spy()
    EXPRESSIONS[number](spy)
    model = _Evaluates(EXPRESSIONS[number])
    with tensortap.tap(model, run="operators", level="L1", spool=tmp_path), torch.no_grad():
        model(torch.ones(2))
    (step,) = reading.only(tmp_path).steps
    assert [name.rsplit(".", 2)[0] for name in step.completed] == spy.called
