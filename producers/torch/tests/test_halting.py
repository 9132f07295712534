"""Ranks agree behind which step they end, whatever they are doing when one of them asks; none waits for another that has gone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from ranks import in_children, on_ranks

from tensortap._session import halting
from tensortap._session.halting import STATUS, Halt


def _steps(rank: int, own: Path, asks: tuple[int, int], late: bool) -> None:
    """All reduce in each step, ask in one, and write down behind which step this rank ended."""
    said: list[str] = []
    halt = Halt(rank, said.append)
    step = -1
    with _ended() as statuses:
        for step in range(20):
            halt.begins(step)
            if not late and (rank, step) == asks:
                halt.ask("NaN")
            dist.all_reduce(torch.ones(1))
            if late and (rank, step) == asks:
                time.sleep(0.1)  # the others are within the next step by now, and wait for this rank
                halt.ask("NaN")
            halt.ends(step)
    halt.left()
    own.write_text(f"{step} {statuses} {said}")


@contextmanager
def _ended() -> Iterator[list[object]]:
    statuses: list[object] = []
    try:
        yield statuses
    except SystemExit as exit:
        statuses.append(exit.code)


@pytest.mark.parametrize(("late", "last"), [(False, (5,)), (True, (5, 6))])
def test_ranks_that_meet_in_each_step_end_behind_the_same(late: bool, last: tuple[int, ...], tmp_path: Path) -> None:
    on_ranks(3, tmp_path, lambda rank, own: _steps(rank, own, (1, 5), late))
    told = [(tmp_path / f"rank{rank}").read_text() for rank in range(3)]
    steps = {int(text.split()[0]) for text in told}
    assert len(steps) == 1 and steps <= set(last), told
    assert all(f"[{STATUS}]" in text and "as on_nan asks" in text for text in told)


def test_all_ranks_may_ask_at_once(tmp_path: Path) -> None:
    def all_ask(rank: int, own: Path) -> None:
        _steps(rank, own, (rank, 3), False)

    on_ranks(3, tmp_path, all_ask)
    assert {(tmp_path / f"rank{rank}").read_text().split()[0] for rank in range(3)} <= {"3", "4"}


def test_a_rank_that_never_comes_is_waited_for_no_longer_than_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halting, "_PATIENCE", 0.2)

    def work(rank: int, own: Path) -> None:
        if rank == 0:
            _steps_alone(own)
        else:
            while not own.with_name("rank0").exists():
                time.sleep(0.01)

    on_ranks(2, tmp_path, work)
    told = (tmp_path / "rank0").read_text()
    assert f"[{STATUS}]" in told and "other ranks did not come to the end of that step within 0 s" in told


def test_a_rank_that_asked_and_is_gone_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halting, "_PATIENCE", 0.5)

    def work(rank: int, own: Path) -> None:
        said: list[str] = []
        halt = Halt(rank, said.append)
        dist.barrier()
        if rank == 0:
            halting._store().add(halting._ASKED, 1)
        dist.barrier()
        begun = time.monotonic()
        asked = halt.ask("NaN")
        quick = time.monotonic() - begun < 0.5
        for step in range(20):
            halt.begins(step)
            halt.ends(step)
        own.write_text(f"{asked} {quick} {time.monotonic() - begun < 5} {len(said)}")
        dist.barrier()

    on_ranks(2, tmp_path, work)
    assert {(tmp_path / f"rank{rank}").read_text() for rank in range(2)} == {"; all ranks end, as another has asked True True 1"}


def _steps_alone(own: Path) -> None:
    said: list[str] = []
    halt = Halt(0, said.append)
    halt.begins(0)
    halt.ask("NaN")
    with _ended() as statuses:
        halt.ends(0)
    own.write_text(f"{statuses} {said}")


def test_a_process_without_a_group_ends_by_itself(tmp_path: Path) -> None:
    def work(number: int, own: Path) -> None:
        assert not dist.is_initialized() and os.getpid()
        _steps_alone(own)

    in_children(1, tmp_path, work)
    assert (tmp_path / "rank0").read_text().startswith(f"[{STATUS}]")
