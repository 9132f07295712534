"""msProbe's class: the same calls, the same names, in our spool."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tensortap._config.settings import SettingsError
from tensortap.integrations.msprobe import PrecisionDebugger
from tests.reading import Spooled, only


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A spool of its own for each test, and no debugger of another."""
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path / "spool"))
    monkeypatch.chdir(tmp_path)
    forget()
    yield
    forget()


def forget() -> None:
    made = PrecisionDebugger._only
    if made and made._session:
        made._session.close()
    PrecisionDebugger._only = None


def spooled(tmp_path: Path) -> Spooled:
    made = PrecisionDebugger._only
    assert made and made._session
    made._session.close()
    return only(tmp_path / "spool")


def config(**given: Any) -> str:
    content = {"task": "statistics", "dump_path": "./dumps", "level": "mix", "risk_level": "ALL", "statistics": {}, **given}
    Path("config.json").write_text(json.dumps(content))
    return "config.json"


def small() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def train(model: nn.Module) -> Tensor:
    loss: Tensor = model(torch.ones(3, 4)).sum()
    torch.autograd.backward(loss)
    return loss


def test_what_lies_between_start_and_stop_is_recorded_step_by_step(tmp_path: Path) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config(step=["0", "2-3"]))
    for _ in range(4):
        debugger.start(model=model)
        train(model)
        debugger.stop()
        model(torch.ones(1, 4))
        debugger.step()
    found = spooled(tmp_path)
    assert [step.number for step in found.steps] == [0, 2, 3]
    assert [sum(name.endswith("Linear.forward.0") for name in step.begun) for step in found.steps] == [2, 2, 2]
    assert all(not name.endswith("forward.1") for step in found.steps for name in step.begun)
    assert "Functional.relu.0.backward" in found.steps[1].completed
    run = found.definitions[0]
    assert (run["name"], run["level"]) == ("dumps", "mix")


def test_methods_work_on_the_class_and_a_second_debugger_is_the_first(tmp_path: Path) -> None:
    model = small()
    first = PrecisionDebugger(config_path=config())
    assert PrecisionDebugger(config_path="another.json") is first
    PrecisionDebugger.start(model)
    train(model)
    PrecisionDebugger.stop()
    PrecisionDebugger.step()
    assert len(spooled(tmp_path).steps) == 1


def test_arguments_win_over_the_file(tmp_path: Path) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config(), dump_path="x/mine", level="L0", step=[1])
    for _ in range(3):
        debugger.start(model)
        train(model)
        debugger.stop()
        debugger.step()
    found = spooled(tmp_path)
    assert found.definitions[0]["name"] == "mine"
    assert [step.number for step in found.steps] == [1]
    assert all(name.startswith(("Module.", "Loss.")) for name in found.steps[0].begun)


def test_steps_may_be_numbered_from_another_one(tmp_path: Path) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config())
    debugger.set_init_step(100)
    debugger.start(model)
    train(model)
    debugger.stop()
    debugger.step()
    assert [step.number for step in spooled(tmp_path).steps] == [100]


def test_the_rank_may_be_given(tmp_path: Path) -> None:
    debugger = PrecisionDebugger(config_path=config(rank=[3]))
    debugger.start(small(), rank_id=3)
    debugger.step()
    assert spooled(tmp_path).definitions[1]["rank"] == 3


def test_saved_variables_are_ops_with_their_gradients(tmp_path: Path) -> None:
    debugger = PrecisionDebugger(config_path=config(level="debug"))
    for _ in range(2):
        value = torch.arange(3.0, requires_grad=True)
        debugger.save(value, "plain")
        debugger.save({"a": value * 2, "b": [1, value]}, "nested", save_backward=False)
        debugger.save(value, "plain")
        torch.autograd.backward((value * 3).sum())
        debugger.step()
    found = spooled(tmp_path)
    assert [step.number for step in found.steps] == [0, 1]
    for step in found.steps:
        names = ["plain.0.debug", "nested.0.debug", "plain.1.debug"]
        assert [name for name in step.completed if "grad" not in name] == [*names, "Loss.0.debug"]
        assert sorted(name for name in step.completed if "grad" in name) == ["plain_grad.0.debug", "plain_grad.1.debug"]
        paths = [(value.op, value.role, value.path) for value in step.values]
        assert [path for path in paths if path[0] == "nested.0.debug"] == [
            ("nested.0.debug", "output", "a"),
            ("nested.0.debug", "output", "b.0"),
            ("nested.0.debug", "output", "b.1"),
        ]
        gradients = [value for value in step.values if value.op == "plain_grad.0.debug"]
        assert [(value.path, value.row[6]) for value in gradients] == [("", 3.0)]


def test_the_switch_in_the_file_is_obeyed_while_the_model_trains(tmp_path: Path) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config(dump_enable=False))
    for enable in (False, True, False, True):
        config(dump_enable=enable)
        later = time.time() + 1
        os.utime("config.json", (later, later))
        debugger.start(model)
        train(model)
        debugger.stop()
        debugger.step()
    assert [step.number for step in spooled(tmp_path).steps if step.begun] == [1, 3]


def test_errors_come_where_the_debugger_is_made_and_leave_none_behind() -> None:
    with pytest.raises(SettingsError, match="unknown key levle; do you mean level"):
        PrecisionDebugger(config_path=config(levle="L0"))
    assert PrecisionDebugger._only is None
    assert PrecisionDebugger(config_path=config()) is PrecisionDebugger._only


def test_a_start_without_a_model_is_told_and_does_no_harm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config(level="L0"))
    for _ in range(2):
        debugger.start()
        train(model)
        debugger.stop()
        debugger.step()
    assert capsys.readouterr().err.count("start() needs model= at level L0; nothing is recorded") == 1
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_is_done_otherwise_is_told_once_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config(task="exception_dump"))
    for _ in range(2):
        debugger.start(model)
        train(model)
        debugger.stop()
        debugger.step()
    sentence = "task exception_dump: every op is recorded, not only those that raise"
    assert capsys.readouterr().err.count(sentence) == 1
    counts = [step.unseen.get(("setting not honoured", sentence)) for step in spooled(tmp_path).steps]
    assert counts == [1, None]


def test_structure_records_no_values(tmp_path: Path) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config(task="structure"))
    debugger.start(model)
    train(model)
    debugger.stop()
    debugger.step()
    (step,) = spooled(tmp_path).steps
    assert step.values == [] and "Functional.linear.1.forward" in step.completed
    assert step.parents["Functional.linear.1.forward"] == "Module.2.Linear.forward.0"


@pytest.mark.parametrize(("modes", "kept"), [(["input"], {"input", "kwarg"}), (["output"], {"output", "parameter", "parameter_gradient"})])
def test_data_modes_choose_halves(tmp_path: Path, modes: list[str], kept: set[str]) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config(statistics={"data_mode": modes}))
    debugger.start(model)
    train(model)
    debugger.stop()
    debugger.step()
    (step,) = spooled(tmp_path).steps
    roles = {value.role for value in step.values if value.op != "Loss.0.debug"}
    assert roles and roles <= kept


def test_forwards_of_one_step_are_its_micro_steps(tmp_path: Path) -> None:
    model = small()
    debugger = PrecisionDebugger(config_path=config())
    for forwards in (1, 2):
        debugger.start(model)
        for _ in range(forwards):
            train(model)
        debugger.stop()
        debugger.step()
    assert [step.micro_steps for step in spooled(tmp_path).steps] == [{0}, {0, 1}]
