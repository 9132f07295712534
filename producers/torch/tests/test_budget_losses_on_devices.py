"""Losses on a device, in steps that a budget leaves out, by Triton's interpreter: nothing waits for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import interpreting
import pytest
import reading
import torch
from driving import Driver, driven
from torch import nn

import tensortap
from tensortap._record import unseen
from tensortap._record.tensor_rows import Observer

LATE = 3  # steps until a device has done what it was asked for


@pytest.fixture
def driver(interpreted: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    layout = Observer.layout
    monkeypatch.setattr(Observer, "layout", lambda self, tensor: (layout(self, tensor)[0], None))
    with driven() as driver:
        driver.is_prompt = False
        yield driver


def test_all_in_an_interpreter() -> None:
    interpreting.run_all(__file__)


def _train(driver: Driver, spool: Path, steps: int, bad: int) -> reading.Spooled:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with tensortap.tap(model, run="devices", spool=spool, budget="0.001%") as tap:
        for step in range(steps):
            (model(torch.ones(2, 3)).mean() * 0 + (math.nan if step == bad else 1.0)).backward()
            optimizer.step()
            tap.step()
            if step % LATE == LATE - 1:
                driver.run()
    return reading.only(spool)


def test_a_loss_is_known_some_steps_later_and_nothing_waited(driver: Driver, tmp_path: Path) -> None:
    spooled = _train(driver, tmp_path, 30, 7)
    lone, whole = spooled.steps[1:]
    assert (lone.number, (unseen.ONLY_LOSS, "") in lone.unseen) == (7, True)
    assert [row[0] for value in lone.values for kind, row in value.more if kind == "counts"] == [1]
    assert 8 < whole.number < 14
    assert any(name.startswith("Module.") for name in whole.begun)
    assert driver.copies > 3 >= driver.waits  # two recorded steps and the end wait, and nothing else


def test_the_end_waits_for_what_is_on_its_way(driver: Driver, tmp_path: Path) -> None:
    spooled = _train(driver, tmp_path, 10, 9)
    assert [step.number for step in spooled.steps] == [0, 9]
