"""A tap does no harm to the program that it is a guest of."""

from __future__ import annotations

import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from models import small, train

import tensortap
from tensortap._health.heartbeat import Heartbeat
from tensortap._record.local_variables import local_variable
from tensortap._spool import layout


@pytest.fixture
def _no_default_device() -> Any:
    yield
    torch.set_default_device(None)
    del torch._GLOBAL_DEVICE_CONTEXT.device_context  # 2.4 raises when it is asked for the default device and has None


class _Turns(torch.nn.Module):
    """Sets the default device anew within its forward."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.set_default_device("cpu")
        return x * 2


@pytest.mark.usefixtures("_no_default_device")
@pytest.mark.parametrize("before", [True, False])
def test_the_default_device_may_be_set_at_any_time(tmp_path: Path, before: bool) -> None:
    if before:
        torch.set_default_device("cpu")
    model = _Turns()
    with tensortap.tap(model, run="device", level="mix", spool=tmp_path):
        model(torch.ones(2))
        torch.set_default_device("meta")
        assert torch.empty(1).is_meta
        torch.set_default_device("cpu")
        model(torch.ones(2))
        with torch.device("meta"):
            assert torch.empty(1).is_meta
    assert [step.completed.count("Tensor.__mul__.0.forward") for step in reading.only(tmp_path).steps] == [1, 1]


@pytest.mark.usefixtures("_no_default_device")
def test_a_default_device_is_gone_when_it_is_taken_back(tmp_path: Path) -> None:
    torch.set_default_device("meta")
    with tensortap.tap(torch.nn.Identity(), run="device", level="mix", spool=tmp_path) as tap:
        tap.start()
        torch.set_default_device(None)
        assert not torch.empty(1).is_meta
        torch.set_default_device("cpu")
    assert not torch.empty(1).is_meta
    torch.set_default_device(None)
    assert torch._C._len_torch_function_stack() == 0


def _sites(spool: Path, before: bool, after: bool) -> set[tuple[str, str, str]]:
    """Those of an API written in Python, which a default device passes on; it is set before the tap begins, or after."""
    if before:
        torch.set_default_device("cpu")
    with tensortap.tap(torch.nn.Identity(), run="sites", level="mix", spool=spool) as tap:
        if after:
            torch.set_default_device("cpu")
        tap.start()
        torch.nn.functional.batch_norm(torch.ones(2, 3), torch.zeros(3), torch.ones(3), training=True, eps=0.5)
        tap.step()
    torch.set_default_device(None)
    return {(value.op, value.role, value.path) for step in reading.only(spool).steps for value in step.values}


@pytest.mark.usefixtures("_no_default_device")
def test_a_default_device_changes_nothing_in_how_arguments_are_recorded(tmp_path: Path) -> None:
    want = _sites(tmp_path / "none", before=False, after=False)
    assert ("Functional.batch_norm.0.forward", "kwarg", "eps") in want
    assert ("Functional.batch_norm.0.forward", "kwarg", "bias") not in want
    assert _sites(tmp_path / "before", before=True, after=False) == want
    assert _sites(tmp_path / "after", before=False, after=True) == want


def test_what_a_function_lets_go_is_freed(tmp_path: Path) -> None:
    """CPython before 3.13 keeps in a frame whatever f_locals once showed of it."""
    model, batch = small()

    def steps() -> list[weakref.ref[torch.Tensor]]:
        freed = []
        for _ in range(2):
            loss = model(batch).square().mean()
            doubled = 2 * loss
            doubled.backward()
            freed.append(weakref.ref(loss))
            del loss, doubled
            assert freed[-1]() is None
        return freed

    with tensortap.tap(model, run="freed", level="mix", spool=tmp_path):
        assert len(steps()) == 2


def test_a_dictionary_of_variables_that_others_hold_stays_as_it_is() -> None:
    first = 1
    held = locals()
    assert local_variable(sys._getframe(), "first", None) == first
    assert held["first"] == 1
    assert local_variable(sys._getframe(), "nobody", 5) == 5
    namespace: dict[str, Any] = {"read": local_variable, "sys": sys}
    exec("value = 3\nfound = read(sys._getframe(), 'value', None)", namespace)  # noqa: S102 - as a module's own code runs
    assert namespace["found"] == 3 and namespace["value"] == 3


def test_the_heart_beats_on_after_an_error() -> None:
    beats, errors, enough = 0, [], threading.Event()

    def beat() -> None:
        nonlocal beats
        beats += 1
        if beats == 1:
            raise OSError("disk")
        enough.set()

    heart = Heartbeat(beat, errors.append, interval_s=0.001)
    heart.start()
    assert enough.wait(60)
    heart.stop()
    assert [str(error) for error in errors] == ["disk"]


def test_a_step_ends_though_its_rows_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from tensortap._stats.measure import Measurer

    model, batch = small()
    whole, failed = Measurer.flush, []

    def flush(self: Measurer) -> Any:
        if not failed:
            failed.append(True)
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return whole(self)

    monkeypatch.setattr(Measurer, "flush", flush)
    with tensortap.tap(model, run="failing", level="mix", spool=tmp_path):
        train(model, batch, steps=3)
    assert "illegal memory access" in capfd.readouterr().err
    assert [bool(step.ended) for step in reading.only(tmp_path).steps] == [True, True, True]


class _Stream:
    """A stand-in for a stream of a device."""

    def __init__(self) -> None:
        self.done = False

    def query(self) -> bool:
        return self.done


def test_a_copy_that_is_on_its_way_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of `x.to("cpu", non_blocking=True)`, which returns before the elements have come."""
    stream, pinned = _Stream(), torch.ones(3)
    with tensortap.tap(torch.nn.Identity(), run="copies", spool=tmp_path) as tap:
        tap.start()
        tap.step()
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
        monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor: tensor is pinned)
        for stream.done in (False, True):
            tap.start()
            tap.save(pinned, "copied")
            tap.save(torch.ones(3), "computed")
            tap.step()
    _, first, second = reading.only(tmp_path).steps
    assert [row.flags & layout.UNSUPPORTED for row in first.values] == [layout.UNSUPPORTED, 0]
    assert [row.flags & layout.UNSUPPORTED for row in second.values] == [0, 0]
    assert first.unseen == {("copy in flight", ""): 1} and not second.unseen
