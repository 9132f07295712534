"""A budget of time: what it leaves out, and what it promises."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import reading
from models import small, train

import tensortap
from tensortap._config.settings import SettingsError, settings
from tensortap._record import unseen
from tensortap._record.own_time import Clock
from tensortap._session.budget import Budget
from tensortap._stats.measure import Measurer

MS = 1_000_000


class _Spent(Clock):
    """A clock that is set by hand."""

    ns = 0

    @property
    def spent_ns(self) -> int:
        return self.ns


class _Program:
    """A program whose steps take so long, and a tap that takes so much of each that it records."""

    def __init__(self, share: float) -> None:
        self.now = 0
        self.clock = _Spent()
        self.budget = Budget(share, self.clock, lambda: self.now)

    def run(self, steps: range, plain: int, cost: int, glance: int = 0) -> list[int]:
        recorded = []
        for step in steps:
            wanted = self.budget.wants(step)
            recorded += [step] * wanted
            ours = cost if wanted else glance
            self.clock.ns += ours
            self.now += ours + plain
        return recorded


@pytest.mark.parametrize("share", [0.01, 0.02, 0.1])
def test_the_sum_stays_below_the_budget_though_steps_become_ten_times_longer_and_shorter(share: float) -> None:
    program = _Program(share)
    for at, plain in enumerate([10 * MS, 100 * MS, 10 * MS, 1 * MS]):
        recorded = program.run(range(at * 2000, (at + 1) * 2000), plain, 5 * MS)
        assert recorded
        assert program.clock.ns <= share * (program.now - program.clock.ns) + 5 * MS


def test_more_is_recorded_when_steps_take_longer() -> None:
    program = _Program(0.02)
    short = program.run(range(2000), 10 * MS, 5 * MS)
    long = program.run(range(2000, 4000), 100 * MS, 5 * MS)
    assert len(long) > 5 * len(short)


def test_runs_of_two_budgets_share_the_steps_of_the_smaller_one() -> None:
    less, more = (set(_Program(share).run(range(8192), 10 * MS, 5 * MS)) for share in (0.01, 0.04))
    assert len(less) < len(more)
    assert len(less & more) > 0.9 * len(less)


def test_steps_beyond_the_budget_are_left_out_counted_and_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, batch = small()
    with tensortap.tap(model, run="thin", spool=tmp_path, level="mix", budget="0.001%") as tap:
        train(model, batch, 20)
        assert tap._thinning.clock is not None and tap._thinning.clock.spent_ns > 0
    spooled = reading.only(tmp_path)
    assert [step.number for step in spooled.steps] == [0]
    left = sum(row[2] for kind, row in spooled.rows if kind == "unseen" and spooled.named("text", row[0])["text"] == unseen.BUDGET)
    assert left == 19
    assert capfd.readouterr().err.count("steps are left out to keep the budget of 0.001% of the time") == 1


def test_what_steps_cost_that_are_left_out_is_within_the_budget() -> None:
    program = _Program(0.02)
    for first in range(0, 4000, 2000):
        program.run(range(first, first + 2000), 10 * MS, 5 * MS, glance=MS // 20)
        assert program.clock.ns <= 0.02 * (program.now - program.clock.ns) + 5 * MS
    assert program.budget.every == 64  # and not the 32 that would do if the others cost nothing


def test_steps_that_are_owed_are_recorded_but_not_all() -> None:
    program = _Program(0.001)
    recorded = []
    for step in range(200):
        program.budget.owe()
        recorded += program.run(range(step, step + 1), MS, 5 * MS)
    assert recorded == [0, 64, 128, 192]


def test_waiting_for_a_device_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(measurer: Measurer) -> frozenset[int]:
        time.sleep(0.05)
        return frozenset()

    monkeypatch.setattr(Measurer, "flush", wait)
    model, batch = small()
    with tensortap.tap(model, run="waits", spool=tmp_path, budget="50%") as tap:
        train(model, batch, 1)
    assert tap._thinning.clock is not None
    assert tap._thinning.clock.spent_ns >= 50 * MS


@pytest.mark.parametrize(("given", "share"), [("2%", 0.02), ("0.5%", 0.005), (0.1, 0.1), ("0.1", 0.1)])
def test_shares_are_read(given: object, share: float) -> None:
    assert settings(environment={}, run="r", budget=given).budget == pytest.approx(share)


@pytest.mark.parametrize("given", ["0%", "100%", "nan", "-1%", "much", True, 2])
def test_what_is_no_share_is_refused(given: object) -> None:
    with pytest.raises(SettingsError, match="setting budget"):
        settings(environment={}, run="r", budget=given)


def test_level_aten_has_no_budget() -> None:
    with pytest.raises(SettingsError, match="setting budget: the time of level aten is not taken"):
        settings(environment={}, run="r", level="aten", budget="2%")
