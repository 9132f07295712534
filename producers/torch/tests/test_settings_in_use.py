"""Settings at work: what is left out is counted, what matches nothing is told once, on stderr, and never raised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import tensortap
from tests.reading import Spooled, only


def run(tmp_path: Path, count: int = 2, **given: Any) -> Spooled:
    """Train for so many steps."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Softmax(dim=-1), nn.Linear(8, 2))
    with tensortap.tap(model, run="r", spool=tmp_path, **{"level": "mix", **given}) as tap:
        for _ in range(count):
            torch.autograd.backward(model(torch.ones(3, 4)).sum())
            tap.step()
    return only(tmp_path)


def test_scope_keeps_what_is_inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (first, _) = run(tmp_path, scope="2").steps
    assert [name for name in first.begun if "forward" in name] == ["Module.2.Linear.forward.0", "Functional.linear.1.forward"]
    assert ("filtered", "0") in first.unseen
    assert "tensortap" not in capsys.readouterr().err


def test_ops_keep_the_apis_that_match(tmp_path: Path) -> None:
    (first, _) = run(tmp_path, ops="softmax", level="L1").steps
    assert sorted(first.begun) == ["Functional.softmax.0.backward", "Functional.softmax.0.forward", "Loss.0.debug"]
    assert sum(count for (reason, _), count in first.unseen.items() if reason == "filtered") >= 2


def test_what_matches_nothing_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, count=3, ops="sofmax")
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tensortap")]
    assert told == ["tensortap: rank 0: ops pattern sofmax: matched nothing; * stands for any characters"]


def test_what_matches_nothing_is_told_at_the_end_of_the_first_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Sequential(nn.Linear(4, 8))
    with tensortap.tap(model, run="r", spool=tmp_path, level="L0", scope="layer.7") as tap:
        model(torch.ones(3, 4))
        tap.step()
        assert "scope pattern layer.7: matched nothing" in capsys.readouterr().err


def test_steps_that_are_not_wanted_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(tmp_path, count=5, steps="1,3-9")
    assert [step.number for step in found.steps] == [1, 3, 4]
    counts = [step.unseen.get(("step not wanted", ""), 0) for step in found.steps]
    assert counts == [1, 1, 0]
    assert "tensortap" not in capsys.readouterr().err


def test_a_rank_that_does_not_exist_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Sequential(nn.Linear(4, 8))
    with tensortap.tap(model, run="r", spool=tmp_path, ranks="1-3") as tap:
        model(torch.ones(3, 4))
        tap.step()
    assert "ranks 1-3: this is rank 0 of 1, which is not distributed; nothing is recorded" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_each_step_has_its_memory_and_modules_where_asked(tmp_path: Path) -> None:
    plain = run(tmp_path / "a", level="L0")
    assert [[place for place, _ in step.memory] for step in plain.steps] == [["cpu"], ["cpu"]]
    assert all(row[7] > 1 << 20 for step in plain.steps for _, row in step.memory)
    every = run(tmp_path / "b", level="L0", memory=True)
    assert [len(step.memory) for step in every.steps] == [4, 4]
    ops = [every.named("op", row[0])["name"] for _, row in every.steps[0].memory if row[0]]
    assert ops == ["Module.0.Linear.forward.0", "Module.1.Softmax.forward.0", "Module.2.Linear.forward.0"]


def test_a_tap_that_is_off_records_nothing(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 8))
    with tensortap.tap(model, run="r", spool=tmp_path, enabled=False) as tap:
        tap.start()
        model(torch.ones(3, 4))
        tap.step()
    assert list(tmp_path.iterdir()) == []


def test_the_first_of_each_site_are_kept(tmp_path: Path) -> None:
    first, second = run(tmp_path, first_n_per_site=1, level="L0").steps
    assert first.values and not [value for value in second.values if value.layout["kind"] == "tensor"]
    assert ("sampled", "") in second.unseen
