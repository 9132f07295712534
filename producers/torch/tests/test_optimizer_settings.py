"""What an optimizer steps with: learning rate, momentum and so on of each group, in the first step and where they change."""

from __future__ import annotations

from pathlib import Path

import pytest
import reading
import torch
from torch import nn

import tensortap

SGD = "Optimizer.SGD.settings.0"


def _model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))


def _settings(step: reading.Step) -> dict[tuple[str, str], float]:
    """Each by op and path, as read from its row."""
    values = [value for value in step.values if ".settings." in value.op]
    assert all(value.role == "kwarg" for value in values)
    return {(value.op, value.path): value.row[6] for value in values}


def _train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize("level", ["L0", "L1", "mix", "aten"])
def test_settings_are_told_in_the_first_step_and_where_they_change(level: str, tmp_path: Path) -> None:
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    with tensortap.tap(model, run="schedule", level=level, spool=tmp_path):
        for rate in (0.1, 0.1, 0.05):
            optimizer.param_groups[0]["lr"] = rate
            _train(model, optimizer)
    steps = reading.only(tmp_path).steps
    first, second, third = map(_settings, steps)
    assert "in _train" in steps[0].frames[SGD]
    assert first == {(SGD, "0.lr"): 0.1, (SGD, "0.momentum"): 0.9, (SGD, "0.weight_decay"): 0.01}
    assert second == {}
    assert third == {(SGD, "0.lr"): 0.05}


def test_each_group_of_each_optimizer_has_its_own(tmp_path: Path) -> None:
    model = _model()
    sgd = torch.optim.SGD([{"params": model[0].weight, "lr": 1.0}, {"params": model[0].bias}], lr=2.0)
    others = [torch.optim.Adam(model[1].parameters(), lr=3.0, betas=(0.5, 0.25)) for _ in range(2)]
    with tensortap.tap(model, run="groups", spool=tmp_path) as tap:
        for _ in range(2):
            model(torch.ones(2, 3)).sum().backward()
            for optimizer in (sgd, *others):
                optimizer.step()
            others[1].param_groups[0]["betas"] = (0.5, 0.125)
            tap.step()
    first, second = map(_settings, reading.only(tmp_path).steps)
    assert {path: value for (op, path), value in first.items() if op == SGD and path.endswith(".lr")} == {"0.lr": 1.0, "1.lr": 2.0}
    for at in range(2):
        adam = f"Optimizer.Adam.settings.{at}"
        told = {path: value for (op, path), value in first.items() if op == adam}
        assert told == {"0.lr": 3.0, "0.betas.0": 0.5, "0.betas.1": 0.25, "0.eps": 1e-8, "0.weight_decay": 0.0}
    assert second == {("Optimizer.Adam.settings.1", "0.betas.1"): 0.125}


def test_a_rate_that_is_a_tensor_is_read_where_it_lies(tmp_path: Path) -> None:
    model = _model()
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.5))
    with tensortap.tap(model, run="tensor", spool=tmp_path):
        for _ in range(2):
            _train(model, optimizer)
    first, second = map(_settings, reading.only(tmp_path).steps)
    assert first["Optimizer.Adam.settings.0", "0.lr"] == 0.5 and second == {}


def test_a_rate_that_changes_for_ever_takes_no_more_definitions(tmp_path: Path) -> None:
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tensortap.tap(model, run="long", spool=tmp_path):
        for at in range(5):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + at)
            _train(model, optimizer)
    spooled = reading.only(tmp_path)
    assert [_settings(step)[SGD, "0.lr"] for step in spooled.steps] == [0.1 / (1 + at) for at in range(5)]
    assert [one["kind"] for one in spooled.definitions if one["d"] == "layout" and one["dtype"] == "float"] == ["other"]


def test_what_is_no_finite_number_is_told_as_it_is(tmp_path: Path) -> None:
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.param_groups[0].update(lr=float("nan"), momentum=None, weight_decay="none")
    with tensortap.tap(model, run="odd", spool=tmp_path):
        model(torch.ones(2, 3)).sum().backward()
        with pytest.raises(TypeError):
            optimizer.step()
    (step,) = reading.only(tmp_path).steps
    (rate,) = [value for value in step.values if value.op == SGD]
    assert rate.path == "0.lr" and rate.more[0][0] == "counts" and rate.more[0][1][0] == 1
