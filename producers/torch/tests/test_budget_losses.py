"""Losses of the steps that a budget leaves out: one that is not finite is seen, whatever the grid."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from torch import nn

import tensortap
from tensortap._record import unseen

LOSS = "Loss.0.debug"


def _train(spool: Path, steps: int, bad: Iterable[int], value: float = math.nan, micro_steps: int = 1, **settings: Any) -> reading.Spooled:
    """Trains so many steps, in some of which the last loss has this value; the weights stay as they are."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with tensortap.tap(model, run="losses", spool=spool, budget="0.001%", **settings):
        for step in range(steps):
            for micro_step in range(micro_steps):
                scale = value if step in set(bad) and micro_step == micro_steps - 1 else 1.0
                (model(torch.ones(2, 3)).mean() * 0 + scale).backward()
            optimizer.zero_grad()
            optimizer.step()
    return reading.only(spool)


def _whole(spooled: reading.Spooled) -> list[int]:
    return [step.number for step in spooled.steps if any(name.startswith("Module.") for name in step.begun)]


def _lone(spooled: reading.Spooled) -> list[int]:
    """The steps of which the loss alone is recorded."""
    return [step.number for step in spooled.steps if (unseen.ONLY_LOSS, "") in step.unseen]


@pytest.mark.parametrize(("value", "counts"), [(math.nan, (1, 0, 0)), (math.inf, (0, 1, 0)), (-math.inf, (0, 0, 1))])
def test_a_loss_that_is_not_finite_is_recorded_and_the_next_step_is_too(value: float, counts: tuple[int, ...], tmp_path: Path) -> None:
    spooled = _train(tmp_path, 20, [7], value)
    assert [step.number for step in spooled.steps] == [0, 7, 8]
    assert (_whole(spooled), _lone(spooled)) == ([0, 8], [7])
    lone = spooled.steps[1]
    assert lone.begun == [LOSS]
    assert "test_budget_losses.py" in lone.frames[LOSS]
    (loss,) = lone.values
    assert [row[:3] for kind, row in loss.more if kind == "counts"] == [counts]
    assert lone.ended is not None
    assert lone.ended[3:6] == (1, 1, 0)


def test_the_step_after_it_is_recorded_in_detail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spooled = _train(tmp_path, 20, [7])
    assert any(name.startswith("Functional.") for name in spooled.steps[2].begun)
    assert "a loss was not finite in step 7, which the budget left out" in capsys.readouterr().err


def test_all_steps_are_counted(tmp_path: Path) -> None:
    spooled = _train(tmp_path, 20, [7, 19])
    left = [row[2] for kind, row in spooled.rows if kind == "unseen" and spooled.named("text", row[0])["text"] == unseen.BUDGET]
    assert sum(left) == 20 - len(_whole(spooled))
    assert _lone(spooled) == [7, 19]


def test_the_losses_of_all_micro_steps_are_recorded_with_one_that_is_not_finite(tmp_path: Path) -> None:
    lone = _train(tmp_path, 8, [5], micro_steps=3).steps[1]
    assert lone.micro_step == {f"Loss.{at}.debug": at for at in range(3)}
    assert [bool(value.more) for value in lone.values] == [False, False, True]


def test_losses_that_stay_so_are_all_recorded_and_few_whole_steps(tmp_path: Path) -> None:
    spooled = _train(tmp_path, 80, range(5, 80))
    assert _whole(spooled) == [0, 6, 70]
    assert _lone(spooled) == [step for step in range(5, 80) if step not in (6, 70)]


def test_losses_between_start_and_stop_are_looked_at(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3))
    with tensortap.tap(model, run="stops", spool=tmp_path, budget="0.001%") as tap:
        for step in range(4):
            tap.start()
            (model(torch.ones(2, 3)).mean() * (math.nan if step == 2 else 1.0)).backward()
            tap.stop()
            (model(torch.ones(2, 3)).mean() * math.nan).backward()  # nobody asks for this one
            tap.start()
            (model(torch.ones(2, 3)).mean() * (math.nan if step == 1 else 1.0)).backward()
            tap.step()
    assert _lone(reading.only(tmp_path)) == [1]
    assert _whole(reading.only(tmp_path)) == [0, 2]


def test_losses_that_are_finite_leave_nothing(tmp_path: Path) -> None:
    assert [step.number for step in _train(tmp_path, 20, []).steps] == [0]


def test_the_same_bits_come_out_and_nothing_is_left_behind(tmp_path: Path) -> None:
    before = vars(torch.autograd)["_engine_run_backward"] if hasattr(torch.autograd, "_engine_run_backward") else None
    _train(tmp_path, 5, [2])
    after = vars(torch.autograd)["_engine_run_backward"] if hasattr(torch.autograd, "_engine_run_backward") else None
    assert before is after


def test_a_structure_looks_at_no_loss(tmp_path: Path) -> None:
    assert [step.number for step in _train(tmp_path, 20, [7], task="structure").steps] == [0]
