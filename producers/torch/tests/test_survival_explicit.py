"""Errors of ours where the application calls us, in collectives and in full backward do not reach the model either."""

from __future__ import annotations

import copy
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
import torch.distributed as dist
from models import Small, small, train
from torch import Tensor, nn

import tensortap
from tensortap import PrecisionDebugger
from tensortap._hooks import collectives, full_backward, saved_values
from tensortap._session import given, recording, run_info, session, stepping

STEPS = 3


class Fault:
    """Makes a method raise while it is armed."""

    def __init__(self, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.armed, self.raised = False, 0
        original = getattr(owner, name)

        def broken(*args: Any, **kwargs: Any) -> Any:
            if self.armed:
                self.raised += 1
                raise ValueError("injected")
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, broken)


def require_told(fault: Fault, spool: Path, said: str) -> None:
    """It happened, was counted and was said."""
    assert fault.raised, "the place was never reached"
    counted = {key for step in reading.only(spool).steps for key in step.unseen if key[0] == "hook error"}
    assert counted and all(subject.endswith("ValueError") for _, subject in counted)
    assert "injected" in said


def explicitly(model: Small, batch: Tensor, tap: Any, fault: Fault | None = None) -> list[Tensor]:
    """Train as those do who say themselves where steps begin and end."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for step in range(STEPS):
        if fault:
            fault.armed = step == 1
        optimizer.zero_grad()
        if tap:
            tap.start(model)
        loss = model(batch).square().mean()
        if tap:
            tap.save(loss, "loss")
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.detach().clone())
        if tap:
            tap.stop()
            tap.step()
    return losses


CALLED = [
    (session.Session, "_start"), (session.Session, "_stop"), (given.Given, "save"), (session.Session, "_end_explicitly"),
    (stepping.Stepping, "begin"), (stepping.Stepping, "end"), (saved_values.Saver, "save"), (recording.Process, "begin_step"),
    (recording.Process, "end_step"), (recording.Process, "install"), (recording.Process, "uninstall"),
]  # fmt: skip


@pytest.mark.parametrize(("owner", "name"), CALLED, ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_an_error_where_the_application_calls(
    owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, batch = small()
    want = explicitly(copy.deepcopy(model), batch, None)
    fault = Fault(owner, name, monkeypatch)
    tap = tensortap.tap(model, run="survival", level="mix", spool=tmp_path)
    losses = explicitly(model, batch, tap, fault)
    tap.close()
    assert all(torch.equal(one, other) for one, other in zip(losses, want, strict=True))
    require_told(fault, tmp_path, capsys.readouterr().err)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch._C._len_torch_function_stack() == 0


@pytest.mark.parametrize("name", ["around_inputs", "around_outputs", "_given", "_made"])
def test_an_error_in_full_backward(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, batch = small()
    want = train(copy.deepcopy(model), batch, 2)
    fault = Fault(full_backward.FullCall, name, monkeypatch)
    with tensortap.tap(model, run="survival", level="mix", backward="full", spool=tmp_path):
        fault.armed = True
        losses = train(model, batch, 1)
        fault.armed = False
        losses += train(model, batch, 1)
    assert all(torch.allclose(one, other) for one, other in zip(losses, want, strict=True))
    require_told(fault, tmp_path, capsys.readouterr().err)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[None]:
    """A group of one rank."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class _Summed(nn.Module):
    def forward(self, given: Tensor) -> Tensor:
        dist.all_reduce(given)
        work = dist.all_reduce(given, async_op=True)
        assert work is not None
        work.wait()
        return given * 2


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("owner", "name"),
    [(collectives.Collective, "given"), (collectives.Collective, "complete"), (collectives.CollectiveHooks, "_begin"), (collectives.CollectiveHooks, "_returned")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_in_a_collective(
    owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = nn.Sequential(_Summed())
    fault = Fault(owner, name, monkeypatch)
    with tensortap.tap(model, run="survival", level="L1", spool=tmp_path / "spool"):
        for armed in (True, False):
            fault.armed = armed
            assert torch.equal(model(torch.ones(3)), torch.full((3,), 2.0))
    require_told(fault, tmp_path / "spool", capsys.readouterr().err)
    assert len([name for name in reading.only(tmp_path / "spool").steps[1].completed if "all_reduce" in name]) == 2


def test_a_recording_that_cannot_be_made_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each try would leave a folder and open files behind."""
    fault = Fault(run_info, "rank", monkeypatch)
    fault.armed = True
    model, batch = small()
    with tensortap.tap(model, run="survival", spool=tmp_path):
        train(model, batch, 2)
    assert fault.raised == 1
    assert "injected" in capsys.readouterr().err


def test_an_error_that_cannot_be_told_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault(stepping.Stepping, "begin", monkeypatch)
    fault.armed = True
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    model, batch = small()
    with tensortap.tap(model, run="survival", spool=tmp_path):
        train(model, batch, 1)
    assert fault.raised


def test_a_debugger_that_cannot_record_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where it is made may it raise: the spool it needs is looked for at start."""
    file = tmp_path / "file"
    file.write_text("no folder")
    monkeypatch.setenv("TENSORTAP_SPOOL", str(file / "spool"))
    monkeypatch.setenv("TENSORTAP_RUN", "none")
    monkeypatch.setattr(PrecisionDebugger, "_only", None)
    model = torch.nn.Linear(2, 2)
    debugger = PrecisionDebugger(task="statistics", dump_path=str(tmp_path), level="L0")
    for _ in range(2):
        debugger.start(model=model)
        model(torch.ones(1, 2))
        debugger.save(torch.ones(1), "one")
        debugger.stop()
        debugger.step()
    assert capsys.readouterr().err.count("nothing is recorded: make the folder of spools") == 1
