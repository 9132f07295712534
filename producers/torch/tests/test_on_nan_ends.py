"""What becomes of the run at the first value that is not finite, when something else goes wrong as well."""

from __future__ import annotations

from pathlib import Path

import pytest
import rare
import reading
import torch
from torch import nn

import tensortap
from tensortap._record.kept_calls import KeptCall
from tensortap._record.not_finite import NotFinite
from tensortap._session.halting import STATUS


def test_the_run_ends_and_all_is_told_though_the_op_could_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise TypeError("odd")

    monkeypatch.setattr(KeptCall, "write", fails)
    model = rare.Model()
    with (
        pytest.raises(SystemExit) as ended,
        tensortap.tap(model, run="r", spool=tmp_path / "spool", on_nan="keep,stop", payload_folder=tmp_path / "kept") as tap,
    ):
        model(torch.randn(2, 4), True)
        tap.step()
    assert ended.value.code == STATUS
    (failure,) = (failure for step in reading.only(tmp_path / "spool").steps for failure in step.failures)
    assert "nothing is kept of it: TypeError: odd; all ranks end after step 0" in failure[2]


def _raises() -> None:
    raise NotFinite("late")


def test_what_raises_as_a_step_ends_leaves_the_next_step_and_the_end_as_they_are(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    tap = tensortap.tap(model, run="r", spool=tmp_path / "spool", on_nan="raise")
    model(torch.ones(2, 4))
    process = tap._steps.process
    assert process is not None and process.nan_watch is not None
    process.nan_watch.rows_have_come = _raises  # type: ignore[method-assign]
    with pytest.raises(NotFinite):
        tap.step()
    model(torch.ones(2, 4))
    with pytest.raises(NotFinite):
        tap.close()
    assert tap._steps.process is None and not model[0]._forward_hooks and not model._forward_pre_hooks
    assert [step.number for step in reading.only(tmp_path / "spool").steps if step.ended] == [0, 1]


def test_what_ops_have_made_counts_where_it_is_held(tmp_path: Path) -> None:
    """As on a device, whose numbers come later."""
    from tensortap._record.held_calls import Call, HeldCalls
    from tensortap._record.op_names import Op

    held = HeldCalls(100)
    op = Op.__new__(Op)
    op.id = 1  # type: ignore[misc]
    calls = [Call(op, seq, "", None, False) for seq in range(4)]
    for call in calls:
        held.add(call)
        call.holds_result((torch.ones(10), [torch.ones(5)]))
        held.complete(call)
    assert held.bytes == 60 and held.completed() == calls
    assert [call.is_let_go and call.result is None for call in calls] == [True, True, True, False]
