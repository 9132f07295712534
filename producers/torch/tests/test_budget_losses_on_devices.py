"""Losses on a device, in steps that a budget leaves out, by Triton's interpreter: nothing waits for them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import reading
import torch
from torch import nn

triton = pytest.importorskip("triton", reason="no Triton here")

import tensortap
from tensortap._record import glances, unseen
from tensortap._record.tensor_rows import Observer


class _Event:
    """A stand-in for an event that a device reaches when it was asked for it so often."""

    late = 3

    def __init__(self) -> None:
        self.asked = 0

    def query(self) -> bool:
        self.asked += 1
        return self.asked > self.late

    def synchronize(self) -> None:
        _waited.append(self.asked <= self.late)


_waited: list[bool] = []


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("run by test_all_in_an_interpreter, which sets TRITON_INTERPRET")
    from tensortap._stats.triton_kernel import Rows

    send = Rows.send

    def sent(self: Rows) -> None:
        send(self)
        self._sent = _Event()

    _waited.clear()
    monkeypatch.setattr(Rows, "send", sent)
    monkeypatch.setattr(glances, "_is_on_device", lambda tensor: True)
    layout = Observer.layout
    monkeypatch.setattr(Observer, "layout", lambda self, tensor: (layout(self, tensor)[0], None))


def test_all_in_an_interpreter() -> None:
    if os.environ.get("TRITON_INTERPRET") == "1":
        return
    here = Path(__file__)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(here.parent.parent / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(here)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


def _train(spool: Path, steps: int, bad: int) -> reading.Spooled:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with tensortap.tap(model, run="devices", spool=spool, budget="0.001%") as tap:
        for step in range(steps):
            (model(torch.ones(2, 3)).mean() * 0 + (math.nan if step == bad else 1.0)).backward()
            optimizer.step()
            tap.step()
    return reading.only(spool)


def test_a_loss_is_known_some_steps_later_and_nothing_waited(on_device: None, tmp_path: Path) -> None:
    spooled = _train(tmp_path, 30, 7)
    lone, whole = spooled.steps[1:]
    assert (lone.number, (unseen.ONLY_LOSS, "") in lone.unseen) == (7, True)
    assert [row[0] for value in lone.values for kind, row in value.more if kind == "counts"] == [1]
    assert 8 < whole.number < 14
    assert any(name.startswith("Module.") for name in whole.begun)
    assert len(_waited) > 3 >= sum(_waited)  # two recorded steps and the end wait, and nothing else


def test_the_end_waits_for_what_is_on_its_way(on_device: None, tmp_path: Path) -> None:
    spooled = _train(tmp_path, 10, 9)
    assert [step.number for step in spooled.steps] == [0, 9]
