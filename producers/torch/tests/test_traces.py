"""What is traced on request: the stacks of a live process for a while, and torch.profiler for some steps. The model goes on meanwhile."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import asking
import pytest
import reading
import torch
from torch import nn

import tensortap
from tensortap._health import sampler as sampling
from tensortap._health.sampler import Sampler
from tensortap._session import profiling
from tensortap._session.tracing import Tracing
from tensortap._spool import layout


def _folder(spool: Path) -> Path:
    return next(path for path in spool.iterdir() if (path / "header").exists())


def _until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _spins_here(ended: threading.Event) -> None:
    while not ended.is_set():
        sum(range(100))


@pytest.fixture
def spinning() -> Any:
    ended = threading.Event()
    thread = threading.Thread(target=_spins_here, args=(ended,), name="spinner", daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join()


def _check(content: dict[str, Any]) -> dict[str, set[str]]:
    """What speedscope demands of a file; the names of the functions in it, by the profile's name."""
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = content["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    names: dict[str, set[str]] = {}
    for profile in content["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "seconds"
        assert len(profile["samples"]) == len(profile["weights"])
        assert abs(profile["startValue"] + sum(profile["weights"]) - profile["endValue"]) < 1e-3
        assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
        names[profile["name"]] = {frames[frame]["name"] for sample in profile["samples"] for frame in sample}
    return names


def test_a_sampler_names_the_functions_of_each_thread_but_ours(tmp_path: Path, spinning: None) -> None:
    path, done = tmp_path / "trace.json", threading.Event()
    ours = threading.Thread(target=done.wait, name="tensortap something", daemon=True)
    ours.start()
    sampler = Sampler(path, seconds=0.3, rate=200, label="rank 3", ended=lambda *_: done.set())
    assert not path.exists()
    _until(done.is_set)
    names = _check(json.loads(path.read_text()))
    assert next(iter(names)) == "rank 3: MainThread" and "rank 3: spinner" in names
    assert not any("tensortap" in name for name in names)
    assert "_spins_here" in names["rank 3: spinner"] and "_until" in names["rank 3: MainThread"]
    sampler.stop()


def test_a_sampler_that_is_stopped_writes_what_it_has_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    sampler = Sampler(path, seconds=600, rate=100, label="rank 0", ended=lambda *_: None)
    sampler.stop()
    content = json.loads(path.read_text())
    assert "interrupted" in content["name"] and "of 600 s" in content["name"]


def test_a_trace_is_taken_while_a_step_hangs_and_once(tmp_path: Path, spinning: None) -> None:
    model, kept = nn.Linear(1, 1), tmp_path / "kept"
    with tensortap.tap(model, run="traced", spool=tmp_path / "spool"):
        model(torch.ones(1, 1))
        folder = _folder(tmp_path / "spool")
        asking.ask(folder, 7, do="trace", seconds=0.2, rate=100, folder=str(kept))
        _until(lambda: asking.answer(folder)[0] == 7)  # no further step begins
        assert asking.answer(folder)[1] == layout.TRACING
        path = kept / folder.name / "trace-7.json"
        _until(path.exists)
        assert "_spins_here" in _check(json.loads(path.read_text()))["rank 0: spinner"]
        written = path.stat().st_mtime_ns
        asking.ask(folder, 8, do="stop")
        model(torch.ones(1, 1))
        assert asking.answer(folder)[:2] == (8, layout.STOPPED)
        asking.ask(folder, 7, do="trace", seconds=0.2, rate=100, folder=str(kept))  # again: it is answered, and not taken again
        _until(lambda: asking.answer(folder)[0] == 7)
        assert path.stat().st_mtime_ns == written
        told = [json.loads(line) for file in (tmp_path / "spool").glob("*.logging") for line in file.read_bytes().split(b"\0")[0].splitlines()]
    (trace,) = [line for line in told if line.get("k") == "trace"]
    assert trace["e"]["path"] == str(path) and float(trace["v"]["seconds"]) >= 0.2


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"seconds": -1, "rate": 100}, "seconds"),
        ({"seconds": 1, "rate": 0}, "rate"),
        ({"seconds": "x", "rate": 100}, "seconds"),
        ({"seconds": 1, "rate": 100, "folder": "/proc/none"}, "write"),
        ({"seconds": 1, "rate": 100, "more": 1}, "more"),
    ],
)
def test_what_cannot_be_traced_is_refused(tmp_path: Path, request_: dict[str, Any], why: str) -> None:
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="traced", spool=tmp_path / "spool"):
        model(torch.ones(1, 1))
        folder = _folder(tmp_path / "spool")
        asking.ask(folder, 7, **{"do": "trace", "folder": str(tmp_path / "kept"), **request_})
        _until(lambda: asking.answer(folder)[0] == 7)
        assert asking.answer(folder)[1] == layout.REFUSED and why in asking.answer(folder)[4]


def test_a_second_trace_waits_for_the_first(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="traced", spool=tmp_path / "spool"):
        model(torch.ones(1, 1))
        folder = _folder(tmp_path / "spool")
        for sequence, outcome in ((7, layout.TRACING), (8, layout.REFUSED)):
            asking.ask(folder, sequence, do="trace", seconds=500, rate=10, folder=str(tmp_path / "kept"))
            _until(lambda sequence=sequence: asking.answer(folder)[0] == sequence)
            assert asking.answer(folder)[1] == outcome
        assert "under way" in asking.answer(folder)[4]
    content = json.loads((tmp_path / "kept" / folder.name / "trace-7.json").read_text())  # the program ended before
    assert "interrupted" in content["name"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tensortap ")]


def test_an_error_at_the_end_of_a_trace_leaves_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(tracing: Tracing) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(Tracing, "end", fails)
    model, handles = nn.Linear(1, 1), logging.Logger.callHandlers
    with tensortap.tap(model, run="traced", spool=tmp_path / "spool"):
        model(torch.ones(1, 1))
    assert logging.Logger.callHandlers is handles
    assert reading.only(tmp_path / "spool").header["state"] == 2


def test_a_disk_that_does_not_answer_holds_up_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, told = threading.Event(), list[tuple[str, Mapping[str, object]]]()
    monkeypatch.setattr(sampling, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(profiling, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(Sampler, "_write", lambda *_: answers.wait(60))
    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", lambda *_: answers.wait(60))
    taken = Sampler(tmp_path / "trace.json", seconds=600, rate=100, label="rank 0", ended=lambda *_: None)
    profile = profiling.Profiling(lambda kind, said: told.append((kind, said)))
    profile.begin(tmp_path / "profile.json", 1)
    taken.stop()
    profile.end()
    assert taken.is_under_way and told == [("profile", {"path": str(tmp_path / "profile.json"), "failed": "it is not written within 0.05 s"})]
    answers.set()


def _profiled(tmp_path: Path, before: Callable[[int, Path], None]) -> Path:
    """Train for some steps of which two are to be profiled from the second on; the process's folder of traces."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tensortap.tap(model, run="profiled", spool=tmp_path / "spool", level="L0"):
        for step in range(6):
            if step:
                before(step, _folder(tmp_path / "spool"))
            optimizer.zero_grad()
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
        name = _folder(tmp_path / "spool").name
    return tmp_path / "kept" / name


def test_the_profiler_has_the_ops_of_so_many_steps(tmp_path: Path) -> None:
    answers = []

    def before(step: int, folder: Path) -> None:
        if step == 2:
            asking.ask(folder, 9, do="profile", steps=2, folder=str(tmp_path / "kept"))
        answers.append(asking.answer(folder)[:3])

    kept = _profiled(tmp_path, before)
    assert answers[2] == (9, layout.TRACING, 2)
    content = json.loads((kept / "profile-9.json").read_text())
    names = [event.get("name") for event in content["traceEvents"]]
    assert names.count("aten::linear") == 2 and any("Backward" in str(name) for name in names)
    assert [name for name in names if str(name).startswith("tensortap step")] == ["tensortap step 2", "tensortap step 3"]
    told = b"".join(path.read_bytes() for path in (tmp_path / "spool").glob("*.logging"))
    assert b'"k":"profile"' in told and str(kept / "profile-9.json").encode() in told


def test_a_profiler_of_the_programs_own_is_left_alone(tmp_path: Path) -> None:
    said = []

    def before(step: int, folder: Path) -> None:
        if step == 2:
            asking.ask(folder, 9, do="profile", steps=2, folder=str(tmp_path / "kept"))
        said.append(asking.answer(folder))

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:
        kept = _profiled(tmp_path, before)
    assert said[2][1] == layout.REFUSED and "the program's own" in said[2][4]
    assert not kept.exists() or not list(kept.glob("profile-*"))
    assert sum(event.count for event in own.key_averages() if event.key == "aten::linear") == 6


def test_a_profiler_that_does_not_start_is_told_and_the_step_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object) -> None:
        raise RuntimeError("CUPTI is in use")

    answers = []

    def before(step: int, folder: Path) -> None:
        if step == 2:
            asking.ask(folder, 9, do="profile", steps=2, folder=str(tmp_path / "kept"))
        answers.append(asking.answer(folder))

    monkeypatch.setattr(torch.profiler.profile, "start", fails)
    _profiled(tmp_path, before)
    assert answers[2][:3] == (9, layout.REFUSED, 2) and answers[2][4] == "CUPTI is in use"


def test_a_profile_that_the_program_ends_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    def before(step: int, folder: Path) -> None:
        if step == 4:
            asking.ask(folder, 9, do="profile", steps=100, folder=str(tmp_path / "kept"))

    kept = _profiled(tmp_path, before)
    names = [event.get("name") for event in json.loads((kept / "profile-9.json").read_text())["traceEvents"]]
    assert names.count("aten::linear") == 2
    assert not torch.autograd._profiler_enabled()
