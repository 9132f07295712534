"""What is said of the program around the model: threads, algorithms, optimizers, the exception that ended it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from torch import nn

import tensortap
from tensortap._session import surroundings

GIVEN = torch.ones(2, 3)


def configuration(root: Path) -> dict[str, Any]:
    """What the run's configuration says."""
    said: dict[str, Any] = json.loads(reading.only(root).definitions[0]["config"])
    return said


def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model(GIVEN).sum().backward()
    optimizer.step()


def test_the_first_settings_of_the_optimizer_are_told(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 1))
    strange = torch.optim.SGD([torch.ones(1)], lr=7.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 4)
    with tensortap.tap(model, run="r", spool=tmp_path):
        for _ in range(2):
            train(model, optimizer)
            schedule.step()
    said = configuration(tmp_path)
    assert said["optimizer"] == "AdamW" and said["optimizer lr"] == pytest.approx(0.025)
    assert said["optimizer betas"] == [0.9, 0.999] and said["optimizer weight_decay"] == 0.01
    assert strange and "optimizer 1" not in said


def test_groups_that_differ_are_told_one_by_one() -> None:
    model = nn.Sequential(nn.Linear(3, 1))
    groups = [{"params": [model[0].weight], "lr": torch.tensor(0.5)}, {"params": [model[0].bias]}]
    optimizer = torch.optim.SGD(groups, lr=0.25, momentum=0.5)
    said = surroundings.of(model)
    assert optimizer and said["optimizer lr"] == [0.5, 0.25] and said["optimizer momentum"] == 0.5


def test_an_optimizer_is_known_where_a_program_validates_first() -> None:
    model = nn.Sequential(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
    with torch.no_grad():
        assert optimizer and surroundings.of(model.eval())["optimizer lr"] == 0.25


def test_no_optimizer_is_looked_for_where_nothing_trains() -> None:
    model = nn.Sequential(nn.Linear(3, 1)).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
    assert optimizer and "optimizer" not in surroundings.of(model)


@pytest.mark.usefixtures("deterministic")
def test_threads_and_algorithms_are_told() -> None:
    said = surroundings.of(None)
    assert said["torch threads"] == torch.get_num_threads()
    assert said["deterministic algorithms"] is True


def test_an_exception_that_leaves_the_tap_is_a_failure(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 1))
    with pytest.raises(KeyError), tensortap.tap(model, run="r", spool=tmp_path):
        model(GIVEN)
        raise KeyError("batch")
    assert reading.only(tmp_path).steps[0].failures == [("", "KeyError", "'batch'", "")]


def test_an_exception_of_an_op_is_told_once(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 1))
    with pytest.raises(RuntimeError), tensortap.tap(model, run="r", spool=tmp_path):
        model(torch.ones(2, 5))
    assert [failure[0] for failure in reading.only(tmp_path).steps[0].failures] == ["Module.0.Linear.forward.0"]


ENDS_BADLY = """
import sys, torch, tensortap
model = torch.nn.Sequential(torch.nn.Linear(3, 1))
tap = tensortap.tap(model, run="r", spool=sys.argv[1])
model(torch.ones(2, 3))
if len(sys.argv) > 2:
    sys.exit(3)
def next_batch():
    raise ValueError("no such file: shard 7")
next_batch()
"""


def test_an_exception_that_ends_the_program_is_a_failure(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS_BADLY, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and ended.stderr.count("ValueError: no such file: shard 7") == 1
    spooled = reading.only(tmp_path)
    assert spooled.steps[0].failures == [("", "ValueError", "no such file: shard 7", "")]
    (failure,) = [row for kind, row in spooled.rows if kind == "failure"]
    assert "in next_batch" in spooled.named("stack", failure[5])["frames"][0]


def test_an_exit_is_no_failure(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS_BADLY, str(tmp_path), "exit"], capture_output=True, check=False)
    assert ended.returncode == 3 and reading.only(tmp_path).steps[0].failures == []
