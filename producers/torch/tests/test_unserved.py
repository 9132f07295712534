"""A tap that nobody serves says so once; one whose agent is about to come, or was just away, does not."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import tensortap
from tensortap._session.unserved import LEAST, PATIENCE, Unserved
from tensortap._spool import layout
from tensortap._spool.spool import Spool
from tests.models import small

ROOT = Path("/spools")


def _looks(spool: Spool, time_ns: int) -> None:
    with (spool.folder / "header").open("r+b") as header:
        header.seek(layout.AGENT_OFFSET)
        header.write(struct.pack("<Q", time_ns))


def test_silence_of_all_agents_is_told_once_with_what_to_do() -> None:
    said: list[str] = []
    unserved = Unserved(ROOT, 64, said.append, environment={})
    for _ in range(PATIENCE - 1):
        unserved.beat(served=False)
    assert said == []
    for _ in range(3 * PATIENCE):
        unserved.beat(served=False)
    (sentence,) = said
    assert all(part in sentence for part in ("no agent", "/spools", "128 MiB", "tensortap up", "tensortap agent"))


def test_an_agent_that_comes_or_was_away_for_a_while_is_awaited() -> None:
    said: list[str] = []
    unserved = Unserved(ROOT, 64, said.append, environment={})
    for _ in range(5):
        for _ in range(PATIENCE - 1):
            unserved.beat(served=False)
        unserved.beat(served=True)
    assert said == []


def test_the_end_of_a_tap_that_nobody_looked_at_is_told_but_not_of_a_short_one() -> None:
    for beats, told in ((LEAST - 1, 0), (LEAST, 1)):
        said: list[str] = []
        unserved = Unserved(ROOT, 64, said.append, environment={})
        for _ in range(beats):
            unserved.beat(served=False)
        unserved.end()
        assert len(said) == told


def test_a_launched_program_is_told_nothing() -> None:
    said: list[str] = []
    unserved = Unserved(ROOT, 64, said.append, environment={"TENSORTAP_SERVED": "1"})
    for _ in range(2 * PATIENCE):
        unserved.beat(served=False)
    assert said == []


def test_a_look_of_an_agent_is_seen_in_the_page(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    assert not spool.heartbeat()
    _looks(spool, 1)
    assert spool.heartbeat()
    spool.close()


def test_a_tap_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENSORTAP_SERVED", raising=False)
    model, batch = small()
    with tensortap.tap(model, run="alone", spool=tmp_path) as tap:
        model(batch)
        process = tap._steps.process
        assert process
        for _ in range(PATIENCE):
            process._beat()
        _looks(process._spool, 1)
    assert capsys.readouterr().err.count(f"no agent reads the spool {tmp_path}") == 1
