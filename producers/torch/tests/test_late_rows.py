"""Steps whose rows come late from a device: nothing is lost, nothing is out of order, and nobody waits. Who stands for the driver is late at will."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import interpreting
import pytest
import reading
import torch
from driving import Driver, driven
from torch import nn

import tensortap
from tensortap._session import making, recording
from tensortap._spool import layout
from tensortap._spool.spool import Spool
from tensortap._stats import streams

BENCH = Path(__file__).parents[1] / "bench"
TIMES = ("op", "step", "memory", "component", "unseen")  # records with a time in them


def test_all_in_an_interpreter() -> None:
    interpreting.run_all(__file__)


class Taps:
    """Programs of one model on a device that is late."""

    def __init__(self, driver: Driver, root: Path) -> None:
        self.driver, self.root = driver, root
        self.model = nn.Sequential(nn.Identity(), nn.ReLU())

    def tap(self, name: str = "late", **settings: Any) -> tensortap.Session:
        return tensortap.tap(self.model, run="late", level="L0", spool=self.root / name, **settings)

    def step(self, tap: tensortap.Session, value: float) -> None:
        """One that measures four tensors of the value, or of 0 behind the ReLU."""
        with torch.no_grad():
            self.model(torch.full((5,), value))
        tap.step()

    def steps(self, name: str = "late") -> list[reading.Step]:
        return reading.only(self.root / name).steps

    def means(self, name: str = "late") -> list[list[float | None]]:
        """Of the inputs of each step's ops that can be read by now."""
        return [[None if value.flags & layout.UNSUPPORTED else value.row[6] for value in step.values] for step in self.steps(name)]


@pytest.fixture
def taps(interpreted: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Taps]:
    monkeypatch.syspath_prepend(str(BENCH))
    from gpu_device import Device

    monkeypatch.setattr(recording, "Heartbeat", _NoHeartbeat)
    with driven() as driver, Device(name="cpu", is_interpreted=True).taps():
        yield Taps(driver, tmp_path)


class _NoHeartbeat:
    """A test beats itself."""

    def __init__(self, beat: Callable[[], None], *_: object) -> None:
        _beats.append(beat)

    def start(self) -> None:
        """Nothing."""

    stop = start


_beats: list[Callable[[], None]] = []


def _shape(rows: list[tuple[str, tuple[Any, ...]]]) -> list[tuple[str, object]]:
    return [(kind, row[:2] if kind in TIMES else row) for kind, row in rows]


def test_in_a_steady_state_a_step_waits_for_nothing(taps: Taps) -> None:
    driver = taps.driver
    with taps.tap() as tap:
        for value in (1.0, 2.0):
            taps.step(tap, value)
        before = driver.counts()
        for value in (3.0, 4.0, 5.0):
            taps.step(tap, value)
        steps = {name: count - before[name] for name, count in driver.counts().items()}
    assert steps == {"waits": 0, "events": 0, "allocations": 0, "copies": 3, "launches": 12, "streams": 0}
    assert taps.means() == [[value] * 4 for value in (1.0, 2.0, 3.0, 4.0, 5.0)]


def test_rows_that_come_late_are_those_that_come_at_once(taps: Taps) -> None:
    for name, is_prompt in (("prompt", True), ("late", False)):
        taps.driver.is_prompt = is_prompt
        with taps.tap(name) as tap:
            for value in (1.0, 2.0, 3.0):
                taps.step(tap, value)
    prompt, late = (reading.only(taps.root / name) for name in ("prompt", "late"))
    assert _shape(prompt.rows) == _shape(late.rows)
    assert taps.means() == [[1.0] * 4, [2.0] * 4, [3.0] * 4] and all(step.ended for step in taps.steps())


def test_they_appear_as_the_next_step_ends_and_the_end_of_theirs_with_them(taps: Taps) -> None:
    taps.driver.is_prompt = False
    with taps.tap() as tap:
        taps.step(tap, 1.0)
        assert [step.ended for step in taps.steps()] == [None] and taps.means() == [[]]
        taps.driver.run()
        assert taps.means() == [[]]
        taps.step(tap, 2.0)
        first, second = taps.steps()
        assert first.ended and not second.ended and taps.means() == [[1.0] * 4, []]
        assert taps.driver.waits == 0
    assert taps.means() == [[1.0] * 4, [2.0] * 4] and all(step.ended for step in taps.steps())
    assert taps.driver.waits == 1, "as the tap was closed"


def test_they_appear_though_no_step_follows(taps: Taps) -> None:
    taps.driver.is_prompt = False
    with taps.tap() as tap:
        taps.step(tap, 1.0)
        _beats[-1]()
        assert taps.means() == [[]]
        taps.driver.run()
        _beats[-1]()
        assert taps.means() == [[1.0] * 4] and taps.steps()[0].ended and taps.driver.waits == 0


def test_a_thread_that_could_break_a_capture_asks_nothing(taps: Taps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "ask_beside_captures", lambda: False)
    taps.driver.is_prompt = False
    with taps.tap() as tap:
        taps.step(tap, 1.0)
        taps.driver.run()
        asked = taps.driver.queries
        _beats[-1]()
        assert taps.driver.queries == asked and taps.means() == [[]]
    assert taps.means() == [[1.0] * 4]


def test_a_device_that_fails_meanwhile_leaves_whole_records_that_say_so(taps: Taps, capsys: pytest.CaptureFixture[str]) -> None:
    driver, driver.is_prompt = taps.driver, False
    with taps.tap() as tap:
        taps.step(tap, 1.0)
        driver.run()
        taps.step(tap, 2.0)
        with torch.no_grad():
            taps.model(torch.full((5,), 3.0))
        driver.is_broken = True
        tap.step()
        driver.is_broken, driver.is_prompt = False, True
        driver.run()
        taps.step(tap, 4.0)
    assert taps.means() == [[1.0] * 4, [None] * 4, [None] * 4, [4.0] * 4]
    steps = taps.steps()
    assert [step.number for step in steps if step.ended] == [0, 1, 2, 3]
    assert ("hook error", "end of a step: Broken") in steps[3].unseen
    assert "illegal memory access" in capsys.readouterr().err


def test_a_device_that_has_failed_by_the_end_ends_no_program(taps: Taps) -> None:
    taps.driver.is_prompt = False
    with taps.tap() as tap:
        taps.step(tap, 1.0)
        taps.driver.is_broken = True
    assert taps.means() == [[None] * 4] and taps.steps()[0].ended
    assert reading.only(taps.root / "late").header["state"] == 2


def test_a_child_writes_nothing_of_its_parents(taps: Taps) -> None:
    taps.driver.is_prompt = False
    with taps.tap() as tap:
        taps.step(tap, 1.0)
        child = os.fork()
        if not child:
            taps.driver.run()
            tap.close()
            os._exit(0 if taps.means() == [[]] and taps.driver.waits == 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert taps.means() == [[]]
        taps.driver.run()
        taps.step(tap, 2.0)
        assert taps.means() == [[1.0] * 4, []]
    assert taps.means() == [[1.0] * 4, [2.0] * 4]


def test_segments_are_mapped_as_long_as_rows_may_come_into_them(taps: Taps, monkeypatch: pytest.MonkeyPatch) -> None:
    spools = list[Spool]()

    def small(*args: Any, **kwargs: Any) -> Spool:
        spools.append(Spool(*args, **kwargs, segment_rows=16))
        return spools[-1]

    monkeypatch.setattr(making, "Spool", small)
    taps.driver.is_prompt, values = False, [float(value) for value in range(1, 7)]
    with taps.tap() as tap:
        for value in values:
            taps.step(tap, value)
        (spool,) = spools
        assert len(spool._ring._retired) > len(values) / 2, "all wait"
        taps.driver.run()
        taps.step(tap, 7.0)
        assert len(spool._ring._retired) <= 2, "those of the step that has just ended"
        taps.driver.run()
        taps.step(tap, 8.0)
    assert taps.means() == [[value] * 4 for value in (*values, 7.0, 8.0)] and all(step.ended for step in taps.steps())
    assert taps.driver.waits == 1


def test_a_full_spool_keeps_the_rows_that_matter_before_the_end_of_their_step(taps: Taps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "Spool", partial(Spool, segment_rows=26))
    monkeypatch.setattr(Spool, "_look_at_agent", lambda _: True)
    taps.driver.is_prompt = False
    with taps.tap(segments=2, detail_steps=0) as tap:
        for value in (1.0, 2.0, 3.0, 4.0):
            taps.step(tap, value)
        waits = taps.driver.waits
        taps.step(tap, float("inf"))
        assert taps.driver.waits == waits + 1
    last = taps.steps()[-1]
    assert last.ended and last.values and all(value.more[0][1][1] == 5 for value in last.values)


def test_a_value_that_is_not_finite_is_known_a_step_later(taps: Taps) -> None:
    taps.driver.is_prompt = False
    with taps.tap(detail_steps=1) as tap:
        for value in (float("nan"), 2.0, 3.0, 4.0):
            taps.step(tap, value)
            taps.driver.run()
    kinds = [{kind for value in step.values for kind, _ in value.more} for step in taps.steps()]
    assert kinds == [{"counts"}, {"counts"}, {"counts", "sketch", "digest"}, {"counts"}]
    assert taps.driver.waits <= 3, "as the settings change, and at the end"


def test_a_killed_process_leaves_its_steps_without_an_end(taps: Taps) -> None:
    """Rows that were never written are passed over by the agent, which must not take the step for complete."""
    taps.driver.is_prompt = False
    with ExitStack() as open_taps:
        tap = open_taps.enter_context(taps.tap())
        taps.step(tap, 1.0)
        taps.step(tap, 2.0)
        folder = reading.only(taps.root / "late").folder
        words = [row[layout.COMMIT_OFFSET :] for path in sorted(folder.glob("rows-*")) for row in _records(path)]
    kinds = [int.from_bytes(word, "little") & layout.KIND_MASK for word in words]
    assert kinds.count(layout.STEP_KIND) == 2, "their begins"


def _records(path: Path) -> list[bytes]:
    content = path.read_bytes()
    return [content[at : at + layout.RECORD_BYTES] for at in range(0, len(content), layout.RECORD_BYTES)]
