"""Collectives are on file as they begin, whatever is recorded, numbered so that ranks can be held against each other."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
import torch.distributed as dist
from ranks import on_ranks
from torch import nn

import tensortap
from tensortap._spool import layout

_STATES = {
    layout.COLLECTIVE_CALLED: "called",
    layout.COLLECTIVE_SCHEDULED: "scheduled",
    layout.COLLECTIVE_FAILED: "failed",
    layout.COLLECTIVE_COMPLETED: "completed",
}


def _calls(root: Path) -> list[tuple[str, int, str, str, str]]:
    """Group, number, name, what is given, state."""
    spooled = reading.only(root)

    def text(number: int) -> str:
        return str(spooled.named("text", number)["text"]) if number else ""

    return [
        (str(spooled.named("group", row[0])["description"]), row[4], text(row[1]), text(row[5]), _STATES[row[8]])
        for kind, row in spooled.rows
        if kind == "collective"
    ]


def _on_two_ranks(root: Path, work: Callable[[int, Path], None]) -> list[list[tuple[str, int, str, str, str]]]:
    on_ranks(2, root, work)
    return [_calls(root / f"rank{rank}") for rank in range(2)]


def _tapped(root: Path, **settings: Any) -> tuple[nn.Module, Any]:
    model = nn.Linear(4, 4)
    return model, tensortap.tap(model, run="calls", spool=root, **settings)


def _between_steps(rank: int, root: Path) -> None:
    pair = dist.new_group([0, 1], group_desc="tp")
    model, tap = _tapped(root, level="L0", steps="7")
    with tap:
        dist.all_reduce(torch.ones(2))  # before the first step there is no file
        model(torch.ones(1, 4))
        dist.all_reduce(torch.ones(3))
        tap.step()
        dist.broadcast(torch.ones(2, 2, dtype=torch.bfloat16), 0, group=pair)
        dist.all_gather([torch.empty(2), torch.empty(2)], torch.ones(2))
        dist.barrier()


def test_calls_outside_of_recorded_steps_are_on_file_with_their_numbers(tmp_path: Path) -> None:
    want = [
        ("default_pg", 2, "all_reduce", "float32[3]"),
        ("tp", 1, "broadcast", "bfloat16[2, 2]"),
        ("default_pg", 3, "all_gather", "float32[2]"),
        ("default_pg", 4, "barrier", ""),
    ]
    for calls in _on_two_ranks(tmp_path, _between_steps):
        assert calls == [(*call, state) for call in want for state in ("called", "completed")]


def _asynchronous(rank: int, root: Path) -> None:
    model, tap = _tapped(root)
    with tap:
        model(torch.ones(1, 4))
        work = dist.all_reduce(torch.ones(2), async_op=True)
        if rank == 0:
            dist.send(torch.ones(1), 1)
        else:
            dist.recv(torch.ones(1), 0)
        assert work is not None
        work.wait()


def test_an_asynchronous_call_is_scheduled_until_it_was_waited_for(tmp_path: Path) -> None:
    for rank, calls in enumerate(_on_two_ranks(tmp_path, _asynchronous)):
        message = ("send 0->1", "float32[1]") if rank == 0 else ("recv 1<-0", "")
        assert calls == [
            ("default_pg", 1, "all_reduce", "float32[2]", "called"),
            ("default_pg", 1, "all_reduce", "float32[2]", "scheduled"),
            ("default_pg", 1, *message, "called"),
            ("default_pg", 1, *message, "completed"),
            ("default_pg", 1, "all_reduce", "float32[2]", "completed"),
        ]


def _raises(rank: int, root: Path) -> None:
    before = dist.all_reduce  # of taps of other tests, too
    model, tap = _tapped(root)
    with tap:
        model(torch.ones(1, 4))
        with pytest.raises(ValueError):
            dist.all_reduce(torch.ones(2, dtype=torch.complex64), op=dist.ReduceOp.MAX)
    assert dist.all_reduce is before


def test_a_call_that_raises_has_failed_and_nothing_is_left_behind(tmp_path: Path) -> None:
    for calls in _on_two_ranks(tmp_path, _raises):
        assert [call[4] for call in calls] == ["called", "failed"]


def _alike(rank: int, root: Path) -> None:
    first, second = dist.new_group([0, 1], group_desc="dp"), dist.new_group([0, 1], group_desc="dp")
    model, tap = _tapped(root)
    with tap:
        model(torch.ones(1, 4))
        order = (second, first) if rank else (first, second)
        works = [dist.all_reduce(torch.ones(1), group=group, async_op=True) for group in order]
        for work in works:
            assert work is not None
            work.wait()
        dist.barrier()


def test_groups_of_one_kind_are_told_apart_by_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    on_ranks(2, tmp_path, _alike)
    for rank in range(2):
        groups = [one for one in reading.only(tmp_path / f"rank{rank}").definitions if one["d"] == "group"]
        orders = [(one["description"], one["before"]) for one in groups]
        assert orders == [("dp", rank), ("dp", 1 - rank), ("default_pg", 0)]


def _waits_in_vain(rank: int, root: Path) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{root}/store", rank=rank, world_size=2)
    model, _ = _tapped(root / f"rank{rank}")
    model(torch.ones(1, 4))
    if rank == 0:
        dist.all_reduce(torch.ones(2))
    time.sleep(300)


def test_a_call_is_on_file_before_it_blocks(tmp_path: Path) -> None:
    """Rank 1 is never there; rank 0 is killed while it waits."""
    child = os.fork()
    if child == 0:
        os.setsid()
        _waits_in_vain(0 if os.fork() else 1, tmp_path)
        os._exit(1)
    try:
        _await(lambda: (tmp_path / "rank0").exists() and _has_call(tmp_path / "rank0"))
    finally:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert _calls(tmp_path / "rank0") == [("default_pg", 1, "all_reduce", "float32[2]", "called")]


def _has_call(root: Path) -> bool:
    return bool(_calls_so_far(root))


def _await(holds: Callable[[], bool]) -> None:
    patience = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < patience
        time.sleep(0.05)


def _many(rank: int, root: Path) -> None:
    from tensortap._record import collective_log

    collective_log._CALLS_PER_S, collective_log._MOST_AT_ONCE = 0, 3  # type: ignore[misc]
    model, tap = _tapped(root)
    with tap:
        model(torch.ones(1, 4))
        for _ in range(8):
            dist.all_reduce(torch.ones(2))
        _await(lambda: "completed" in [state for _, number, _, _, state in _calls_so_far(root) if number == 8])
        for _ in range(2):  # and is written once, not at each sign of life
            _await_a_beat(root)
        dist.all_reduce(torch.ones(2))


def _calls_so_far(root: Path) -> list[tuple[str, int, str, str, str]]:
    """Of a process that may be writing."""
    try:
        return _calls(root)
    except (AssertionError, OSError, KeyError):
        return []


def _await_a_beat(root: Path) -> None:
    (folder,) = (one for one in root.iterdir() if one.is_dir())
    before = reading.read_header(folder)["heartbeat_ns"]
    _await(lambda: reading.read_header(folder)["heartbeat_ns"] != before)


def test_of_too_many_calls_the_latest_is_on_file_all_the_same(tmp_path: Path) -> None:
    for calls in _on_two_ranks(tmp_path, _many):
        assert [(call[1], call[4]) for call in calls] == [
            *((number, state) for number in (1, 2, 3) for state in ("called", "completed")),
            (8, "completed"),
        ]
