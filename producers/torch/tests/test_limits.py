"""Tables that grow with what a process does have an end, and what is beyond it is counted."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest
import reading
import torch
from models import small, train

import tensortap
from tensortap._record import call_sites, call_stacks, unseen
from tensortap._record.call_stacks import Stacks
from tensortap._spool import definitions
from tensortap._spool.definitions import Definitions
from tensortap._spool.spool import Spool


def test_definitions_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "_MOST_BYTES", 200)
    made = Definitions(tmp_path / "definitions")
    numbers = [made.define("op", {"name": f"op {at}"}) for at in range(20)]
    kept = numbers.index(0)
    assert numbers == [*range(1, kept + 1), *[0] * (20 - kept)]
    assert made.refused == {"op": 20 - kept}
    assert made.define("op", {"name": "op 0"}) == 1, "what is known stays known"
    assert made.define("text", {"text": unseen.UNDEFINED}) == 1
    size = (tmp_path / "definitions").stat().st_size
    assert made.define("op", {"name": "op 19"}) == 0 and (tmp_path / "definitions").stat().st_size == size
    made.close()


def test_stacks_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_stacks, "_MOST_STACKS", 2)
    monkeypatch.setattr(call_stacks, "_MOST_TEXTS", 1)
    spool = Spool(tmp_path)
    known = Stacks(spool, wanted=True)
    frames: list[FrameType | None] = [sys._getframe(0), sys._getframe(0).f_back, None]
    assert [known.number(frame) for frame in frames] == [1, 2, 0]
    assert known.number(frames[1]) == 2
    assert spool.refused() == [("stack", 1)] and spool.refused() == []
    spool.close()


def test_a_model_runs_on_when_nothing_more_can_be_defined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = small()
    without = train(model, batch, 3)
    monkeypatch.setattr(definitions, "_MOST_BYTES", 4000)
    monkeypatch.setattr(call_sites, "_MOST_KNOWN", 1)
    model, batch = small()
    with tensortap.tap(model, run="r", level="mix", spool=tmp_path):
        losses = train(model, batch, 3)
    assert all(torch.equal(one, other) for one, other in zip(losses, without, strict=True))
    steps = reading.only(tmp_path).steps
    refused = {kind for step in steps for (reason, kind), count in step.unseen.items() if reason == unseen.UNDEFINED and count > 0}
    assert {"op", "stack"} <= refused
    assert all(step.unseen["dropped", ""] > 0 for step in steps), "rows that need a definition are counted, too"


def test_calls_that_cannot_be_defined_are_dropped_and_no_row_tells_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "_MOST_BYTES", 2000)
    model, batch = small()
    with tensortap.tap(model, run="r", level="aten", spool=tmp_path):
        train(model, batch, 3)
    steps = reading.only(tmp_path).steps
    assert all(signature for step in steps for signature, _, _ in step.calls)
    assert all(step.unseen["dropped", ""] > 0 for step in steps)
