"""A graph that is run backward several times: each time has ops of its own, in the step in which it happens."""

from __future__ import annotations

from pathlib import Path

import reading
import torch
from torch import Tensor, nn

import tensortap

GIVEN = torch.ones(2, 3)
_FIRST, _LAST = "Module.0.Linear.backward.0", "Module.1.Linear.backward.0"


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))


def _places(step: reading.Step, op: str) -> list[tuple[int, float]]:
    """Seq and mean of each gradient that an op was given."""
    return [(value.seq, value.row[6]) for value in step.values if value.op == op and value.role == "input"]


def _each_has_its_place(step: reading.Step, op: str, means: list[float]) -> None:
    places = _places(step, op)
    assert [mean for _, mean in places] == means
    assert len({seq for seq, _ in places}) == len(means)
    assert step.completed.count(op) == len(means)


def test_a_retained_graph_is_recorded_each_time(tmp_path: Path) -> None:
    model = _model()
    for level in ("L0", "mix"):
        with tensortap.tap(model, run="retained", level=level, spool=tmp_path / level):
            made = model(GIVEN)
            made.sum().backward(retain_graph=True)
            (3 * made.sum()).backward()
        (step,) = reading.only(tmp_path / level).steps
        _each_has_its_place(step, _LAST, [1.0, 3.0])
        assert step.parents[_FIRST] is None and step.completed.count(_FIRST) == 2


def test_a_graph_of_an_earlier_step_is_recorded_where_it_is_run(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="truncated", spool=tmp_path) as tap:
        kept = model(GIVEN)
        kept.sum().backward(retain_graph=True)
        tap.step()
        (2 * kept.sum() + model(GIVEN).sum()).backward()
    first, second = reading.only(tmp_path).steps
    _each_has_its_place(first, _LAST, [1.0])
    assert {mean for _, mean in _places(second, _LAST)} == {1.0, 2.0}
    _each_has_its_place(second, _LAST, [mean for _, mean in _places(second, _LAST)])


def test_a_gradient_penalty_runs_the_graph_twice(tmp_path: Path) -> None:
    model = _model()
    given = GIVEN.clone().requires_grad_()
    with tensortap.tap(model, run="penalty", spool=tmp_path):
        made = model(given).square().sum()
        (gradient,) = torch.autograd.grad(made, given, create_graph=True)
        (made + gradient.square().sum()).backward()
    (step,) = reading.only(tmp_path).steps
    places = _places(step, _LAST)
    assert len(places) == 2 and len({seq for seq, _ in places}) == 2
    assert step.completed.count(_LAST) == 2


class _Two(nn.Module):
    def forward(self, given: Tensor) -> tuple[Tensor, Tensor]:
        return given * 2, given * 3


def test_outputs_of_one_call_are_one_op_in_one_backward_and_two_in_two(tmp_path: Path) -> None:
    model = nn.Sequential(_Two())
    with tensortap.tap(model, run="outputs", spool=tmp_path) as tap:
        for together in (True, False):
            first, second = model(GIVEN.clone().requires_grad_())
            if together:
                (first + second).sum().backward()
            else:
                first.sum().backward()
                second.sum().backward()
            tap.step()
    together, apart = reading.only(tmp_path).steps
    assert together.completed.count("Module.0._Two.backward.0") == 1
    assert apart.completed.count("Module.0._Two.backward.0") == 2


def test_the_gradient_of_a_saved_variable_is_recorded_each_time(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="saved", level="debug", spool=tmp_path) as tap:
        made = model(GIVEN)
        tap.save(made, "made")
        made.sum().backward(retain_graph=True)
        (3 * made.sum()).backward()
    (step,) = reading.only(tmp_path).steps
    given = [(value.seq, value.row[6]) for value in step.values if value.op == "made_grad.0.debug"]
    assert [mean for _, mean in given] == [1.0, 3.0] and given[0][0] != given[1][0]
