"""What fails as a recording is made: nothing of ours stays behind, and the program goes on."""

from __future__ import annotations

import fcntl
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import traces
from models import small
from torch import nn

import tensortap
from tensortap._debug import launched
from tensortap._hooks.saved_values import Saver
from tensortap._record.logged import Logged
from tensortap._session import recording
from tensortap._session.debugged import Debugged
from tensortap._session.left_out import LeftOut
from tensortap._session.nan_watch import NanWatch
from tensortap._spool import layout


def _raises(kind: type[BaseException]) -> Callable[..., Any]:
    def raises(*_: object, **__: object) -> None:
        raise kind("odd")

    return raises


def _is_locked(header: Path) -> bool:
    """Whether a process still has the spool: its agent would wait for it."""
    with header.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _patches(model: nn.Module) -> traces.Traces:
    """What is in place of torch's own, of the model's and of Python's."""
    return {place: value for place, value in traces.traces(model).items() if not place.startswith(("objects of ", "module "))}


def _check_all_is_undone(spool: Path, handlers: object) -> None:
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("tensortap ")] == []
    assert logging.Logger.callHandlers is handlers
    (header,) = spool.glob("*/header")
    assert not _is_locked(header)
    assert layout.HEADER.unpack_from(header.read_bytes())[2] == 2, "its agent does not wait for more"


@pytest.mark.parametrize(
    ("owner", "name"),
    [(recording.run_info, "rank"), (Saver, "__init__"), (Logged, "__init__"), (NanWatch, "__init__"), (LeftOut, "__init__"), (Debugged, "begin")],
    ids=lambda value: value if isinstance(value, str) else value.__name__.rpartition(".")[2],
)
def test_an_error_of_ours_leaves_nothing_open(
    owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, batch = small()
    before, handlers = _patches(model), logging.Logger.callHandlers
    monkeypatch.setattr(owner, name, _raises(ValueError))
    tap = tensortap.tap(model, run="made", spool=tmp_path, on_nan="keep", budget="2%", when="loss>3")
    model(batch)
    assert tap._steps.process is None
    _check_all_is_undone(tmp_path, handlers)
    assert capsys.readouterr().err.count("ValueError: odd") == 1
    model(batch)  # and nothing is tried again
    tap.close()
    assert traces.left(before, _patches(model)) == []


def test_ctrl_c_while_a_debugger_is_waited_for_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = small()
    handlers = logging.Logger.callHandlers
    monkeypatch.setattr(launched, "enter", _raises(KeyboardInterrupt))
    tap = tensortap.tap(model, run="made", spool=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model(batch)
    _check_all_is_undone(tmp_path, handlers)
    tap.close()
    assert not model._forward_pre_hooks


@pytest.mark.parametrize("settings", [{"ranks": "7", "rank": 0}, {"enabled": False}], ids=["another rank", "switched off"])
def test_a_tap_that_records_nothing_has_no_hook_left(settings: dict[str, Any], tmp_path: Path) -> None:
    model, batch = small()
    before = _patches(model)
    with tensortap.tap(model, run="made", spool=tmp_path, **settings):
        model(batch)
    assert traces.left(before, _patches(model)) == []
