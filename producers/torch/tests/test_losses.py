"""The tensor that a backward pass begins from is recorded at every level: functions that no module calls may have made it."""

from __future__ import annotations

import gc
import math
import weakref
from pathlib import Path

import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap

LEVELS = ("L0", "L1", "mix", "aten", "debug")


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU())


def _losses(step: reading.Step) -> list[reading.Value]:
    return [value for value in step.values if value.op.startswith("Loss.")]


def _means(step: reading.Step) -> list[tuple[str, str, float]]:
    return [(value.op, value.path, value.row[6]) for value in _losses(step)]


@pytest.mark.parametrize("level", LEVELS)
def test_a_loss_that_is_nan_is_recorded_at_every_level(level: str, tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="nan", level=level, spool=tmp_path):
        (model(torch.ones(2, 3)).mean() * math.nan).backward()
    (step,) = reading.only(tmp_path).steps
    (loss,) = _losses(step)
    assert (loss.op, loss.role, loss.path) == ("Loss.0.debug", "input", "0")
    assert [kind for kind, row in loss.more if row[0] == 1] == ["counts"]
    assert "test_losses.py" in step.frames[loss.op]


def test_a_loss_comes_before_its_gradients_and_leaves_the_steps_alone(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="order", spool=tmp_path):
        for _ in range(2):
            model(torch.ones(2, 3)).sum().backward()
    steps = reading.only(tmp_path).steps
    assert [len(_losses(step)) for step in steps] == [1, 1]
    at = steps[0].begun.index("Loss.0.debug")
    assert all(".backward." not in name for name in steps[0].begun[:at])
    assert all(".forward." not in name for name in steps[0].begun[at:])


def test_each_of_several_micro_steps_has_its_loss(tmp_path: Path) -> None:
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tensortap.tap(model, run="micro", spool=tmp_path):
        for _ in range(2):
            for scale in (1.0, 2.0):
                (model(torch.zeros(2, 3)).sum() * 0 + scale).backward()
            optimizer.step()
    for step in reading.only(tmp_path).steps:
        assert _means(step) == [("Loss.0.debug", "0", 1.0), ("Loss.1.debug", "0", 2.0)]
        assert [step.micro_step[f"Loss.{at}.debug"] for at in range(2)] == [0, 1]


def test_several_losses_of_one_backward_are_inputs_of_one(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="list", spool=tmp_path):
        made = model(torch.zeros(2, 3)).sum() * 0
        torch.autograd.backward([made + 3, made + 5])
    (step,) = reading.only(tmp_path).steps
    assert _means(step) == [("Loss.0.debug", "0", 3.0), ("Loss.0.debug", "1", 5.0)]


def test_a_scaled_loss_is_what_backward_gets(tmp_path: Path) -> None:
    model, scaler = _model(), torch.amp.GradScaler("cpu", init_scale=4.0)
    with tensortap.tap(model, run="scaled", spool=tmp_path):
        scaler.scale(model(torch.zeros(2, 3)).sum() * 0 + 2).backward()
    (step,) = reading.only(tmp_path).steps
    assert _means(step) == [("Loss.0.debug", "0", 8.0)]


def test_gradients_that_a_penalty_takes_are_no_loss(tmp_path: Path) -> None:
    model, given = _model(), torch.ones(2, 3, requires_grad=True)
    with tensortap.tap(model, run="penalty", spool=tmp_path):
        made = model(given).square().sum()
        (gradient,) = torch.autograd.grad(made, given, create_graph=True)
        (made + gradient.square().sum()).backward()
    (step,) = reading.only(tmp_path).steps
    assert [op for op, _, _ in _means(step)] == ["Loss.0.debug"]


def test_backwards_within_a_backward_are_no_losses(tmp_path: Path) -> None:
    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: torch.autograd.function.FunctionCtx, given: Tensor) -> Tensor:
            return given.clone()

        @staticmethod
        def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> Tensor:
            with torch.enable_grad():
                torch.ones(2, requires_grad=True).sum().backward()
            return gradient

    model = _model()
    with tensortap.tap(model, run="nested", spool=tmp_path):
        Outer.apply(model(torch.ones(2, 3))).sum().backward()
    (step,) = reading.only(tmp_path).steps
    assert len(_losses(step)) == 1


def test_a_loss_that_an_api_returned_is_named_once_more(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="again", level="mix", spool=tmp_path):
        model(torch.ones(2, 3)).sum().backward()
    (step,) = reading.only(tmp_path).steps
    (loss,) = _losses(step)
    assert loss.flags & reading.layout.REUSED


def test_filters_leave_no_loss_out(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="filtered", scope="0", values="output", direction="backward", spool=tmp_path):
        model(torch.ones(2, 3)).sum().backward()
    (step,) = reading.only(tmp_path).steps
    assert len(_losses(step)) == 1


def test_a_structure_has_no_losses(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="structure", task="structure", spool=tmp_path):
        model(torch.ones(2, 3)).sum().backward()
    (step,) = reading.only(tmp_path).steps
    assert not [name for name in step.begun if name.startswith("Loss.")]


def test_a_nan_in_the_loss_alone_asks_for_detail(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="detail", spool=tmp_path) as tap:
        for scale in (math.nan, 1.0):
            loss = model(torch.ones(2, 3)).detach().requires_grad_().sum() * scale
            loss.backward()
            tap.step()
    second = reading.only(tmp_path).steps[1]
    assert any(name.startswith("Functional.") for name in second.begun)


def test_a_loss_and_its_graph_are_not_kept_alive(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="alive", spool=tmp_path):
        loss = model(torch.ones(2, 3)).sum()
        held = weakref.ref(loss)
        loss.backward()
        del loss
        gc.collect()
        assert held() is None
