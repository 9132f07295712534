"""What the program lets go is gone: a tap keeps no model, no gradient and no copy of one, and its work is not among the program's."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from models import small, train
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

import tensortap


@pytest.mark.parametrize("level", ["L0", "L1", "mix", "aten", "debug"])
def test_a_tap_that_nobody_closes_keeps_no_model(tmp_path: Path, level: Any) -> None:
    model, batch = small()
    freed = [weakref.ref(model), weakref.ref(model.head.weight)]
    tap = tensortap.tap(model, run="unclosed", level=level, backward="full", spool=tmp_path)
    train(model, batch, steps=2)
    del model
    gc.collect()
    assert [part() for part in freed] == [None, None]
    tap.close()
    assert [bool(step.ended) for step in reading.only(tmp_path).steps] == [True, True]


def test_a_container_that_only_its_parts_keep_is_recorded_and_goes_with_them(tmp_path: Path) -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    tap = tensortap.tap(nn.ModuleList([first, second]), run="container", level="L0", spool=tmp_path)
    gc.collect()
    freed = [weakref.ref(part) for part in (first, second, next(iter(tap._roots)))]
    tap.start()
    second(first(torch.ones(2)))
    tap.step()
    assert copy.deepcopy(first)(torch.ones(2)).shape == pickle.loads(pickle.dumps(second))(torch.ones(2)).shape  # noqa: S301
    del first, second
    gc.collect()
    assert [part() for part in freed] == [None, None, None]
    tap.close()
    (step,) = reading.only(tmp_path).steps
    assert [name for name in step.completed if name.endswith("forward.0")] == ["Module.0.Linear.forward.0", "Module.1.Linear.forward.0"]


class _Ops(TorchDispatchMode):
    """What a program's own mode sees."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class _Doubled(torch.autograd.Function):
    """Makes a gradient, and sees in the next one's backward whether the gradient before that is gone."""

    made: weakref.ref[Tensor] | None = None
    is_held: bool | None = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        if _Doubled.made is not None:
            _Doubled.is_held = _Doubled.made() is not None
        doubled = 2 * gradient
        _Doubled.made = weakref.ref(doubled)
        return doubled


class _Inner(nn.Module):
    """Gradients that are handed on, added up and taken by weights; layouts and dtypes that only torch can read."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.scale, self.linear = nn.Parameter(torch.ones(4, 4)), nn.Parameter(torch.ones(4)), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = functional.gelu(self.weight) @ _Doubled.apply(functional.gelu(_Doubled.apply(self.linear(x))))
        both = hidden + hidden.t() * self.scale
        wave = torch.complex(both, both)
        return both.expand(2, 4, 4).square() + (wave * wave.conj()).real


def _ops_of_a_step(model: nn.Module) -> list[str]:
    _Doubled.made = _Doubled.is_held = None
    model.zero_grad()
    with _Ops() as ops:
        model(torch.ones(4, 4)).sum().backward()
    assert _Doubled.is_held is False
    return ops.seen


@pytest.mark.parametrize("more", [{}, {"sketch": True, "digest": True}, {"task": "md5"}], ids=["statistics", "all", "md5"])
@pytest.mark.parametrize("level", ["L0", "L1", "mix", "aten"])
def test_modes_and_gradients_of_the_program_are_as_without_a_tap(tmp_path: Path, level: Any, more: Any) -> None:
    """Autograd copies a gradient that somebody else holds, and adds it up elsewhere: its ops would be others."""
    model = nn.Sequential(_Inner())
    plain = _ops_of_a_step(model)
    with tensortap.tap(model, run="guest", level=level, spool=tmp_path, **more):
        assert _ops_of_a_step(model) == plain
    (step,) = reading.only(tmp_path).steps
    assert step.values or step.calls


def test_a_model_that_start_is_given_later_is_recorded_from_there_on(tmp_path: Path) -> None:
    first, second = nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.ReLU())
    with tensortap.tap(first, run="later", spool=tmp_path, level="L0") as tap:
        first(torch.ones(1, 2))
        tap.step()
        for _ in range(2):
            tap.start(second)
            first(torch.ones(1, 2))
            second(torch.ones(1, 2))
            tap.step()
    both = ["Module.0.0.Linear.forward.0", "Module.1.0.ReLU.forward.0"]
    assert [step.begun for step in reading.only(tmp_path).steps] == [["Module.0.Linear.forward.0"], both, both]
