"""Generators are seeded as a program asks, or as its launcher does before the program has made a model."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch
from torch.nn import functional

from tensortap import seed_all
from tensortap.integrations import seeds
from tests.reading import only

HERE = Path(__file__).resolve().parents[1]
DRAWS = """
import json, random, sys
first = random.random()
import numpy, torch
numbers = [first, float(numpy.random.rand()), float(torch.rand(())), torch.nn.Linear(1, 1).weight.item()]
flags = [torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(), torch.backends.cudnn.deterministic]
print(json.dumps([numbers, flags]))
"""


def launched(program: str = DRAWS, **variables: str) -> str:
    """What a Python prints that is started as `tensortap run` starts it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENSORTAP_")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (HERE / "boot", HERE / "src")))
    done = subprocess.run([sys.executable, "-c", program], env={**environment, **variables}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("attached", [{}, {"TENSORTAP_ATTACH": "1"}])
def test_a_launched_program_draws_the_same_numbers_each_time(attached: dict[str, str]) -> None:
    first = launched(TENSORTAP_SEED="7", **attached)
    assert first == launched(TENSORTAP_SEED="7", **attached)
    assert first != launched(TENSORTAP_SEED="8", **attached)
    by_hand = [random.Random(7).random(), float(numpy.random.RandomState(7).rand()), torch.rand((), generator=torch.Generator().manual_seed(7)).item()]
    assert f"[[{', '.join(map(str, by_hand))}" in first and "[false, false, false]" in first


def test_a_launched_program_takes_deterministic_algorithms() -> None:
    assert "[true, true, true]" in launched(TENSORTAP_DETERMINISTIC="1")


def test_the_configuration_of_a_run_says_so(tmp_path: Path) -> None:
    program = "import torch; model = torch.nn.Linear(2, 2); model(torch.ones(1, 2))"
    given = {"TENSORTAP_ATTACH": "1", "TENSORTAP_RUN": "seeded", "TENSORTAP_SPOOL": str(tmp_path)}
    launched(program, TENSORTAP_SEED="7", PYTHONHASHSEED="7", TENSORTAP_DETERMINISTIC="1", **given)
    (run,) = [one for one in only(tmp_path).definitions if one["d"] == "run"]
    config = json.loads(run["config"])
    assert run["seed"] == 7 and config["deterministic algorithms"] is True and config["env PYTHONHASHSEED"] == "7"


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What seed_all changes is as before, after the test."""
    for name in ("PYTHONHASHSEED", "CUBLAS_WORKSPACE_CONFIG"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    for name in seeds._DROPOUTS:
        monkeypatch.setattr(torch._VF, name, getattr(torch._VF, name))
    for name in ("deterministic", "benchmark"):
        monkeypatch.setattr(torch.backends.cudnn, name, getattr(torch.backends.cudnn, name))


@pytest.mark.usefixtures("as_before")
def test_a_program_asks_as_with_msprobe() -> None:
    seed_all(seed=7, mode=True)
    try:
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    first = random.random(), numpy.random.rand(), torch.rand(()).item()
    seed_all(seed=7)
    assert (random.random(), numpy.random.rand(), torch.rand(()).item()) == first
    assert os.environ["PYTHONHASHSEED"] == "7"


@pytest.mark.usefixtures("as_before")
def test_dropout_is_removed_where_asked() -> None:
    ones = torch.ones(4, 3, 8, 8)
    seed_all()
    assert not torch.equal(functional.dropout(ones, 0.5, True), ones)
    seed_all(rm_dropout=True)
    seed_all(rm_dropout=True)
    for dropout in (functional.dropout, functional.dropout2d):
        assert torch.equal(dropout(ones, 0.5, True), ones)
        assert torch.equal(dropout(ones.clone(), 0.5, True, inplace=True), ones)
    assert torch.equal(torch.nn.Dropout(0.9)(ones), ones)


@pytest.mark.usefixtures("as_before")
def test_what_is_not_honoured_is_said(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    seed_all(is_enhanced=True)
    assert "seed_all(is_enhanced) is not honoured" in capsys.readouterr().err + caplog.text
