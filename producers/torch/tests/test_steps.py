"""Where steps end in loops as programs have them: with scaled losses, compiled optimizers, master weights, teachers, evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch
from torch import nn
from training_loops import (
    Net,
    accumulated,
    backward,
    by_closure,
    compiled,
    compiled_beside_modules_that_change_themselves,
    compiled_whole,
    contrasted,
    evaluated,
    evaluated_amid_batches,
    flat_masters,
    foreach,
    inferred,
    its_own_reference,
    its_own_teacher,
    masters,
    plainly,
    scaled,
    scaled_by_an_optimizer_that_can,
    sgd,
    skipped,
    skipped_in_backward,
    two_optimizers,
    with_another_teacher,
)

import tensortap
from tensortap._record import unseen
from tensortap._session import step_boundaries as steps
from tests.reading import Spooled, Step, Value, only

Loop = Callable[[nn.Module], object]
# Of each step: its phase, and how often its first layer was called forward and backward.
Summary = list[tuple[str, int, int]]


def phase_of(spooled: Spooled, step: Step) -> str:
    """What kind of step it is."""
    assert step.ended is not None, step.number
    return str(spooled.named("text", step.ended[8])["text"]) if step.ended[8] else ""


def calls(step: Step, ends: str) -> int:
    """How often the first layer was called."""
    return sum(name.startswith("Module.inner.Linear.") and f".{ends}." in name for name in step.completed)


def overflows(value: Value) -> bool:
    """Whether a tensor has values that are not finite."""
    return any(kind == "counts" and any(row[:3]) for kind, row in value.more)


def summary(spool: Path) -> Summary:
    """All steps of the one process."""
    spooled = only(spool)
    return [(phase_of(spooled, step), calls(step, "forward"), calls(step, "backward")) for step in spooled.steps]


def trains(times: int, forwards: int = 1, backwards: int | None = None) -> Summary:
    """So many steps that train, all alike."""
    return [("train", forwards, forwards if backwards is None else backwards)] * times


EVALUATES: Summary = [("evaluate", 1, 0)]

LOOPS: list[tuple[Loop, Summary]] = [
    (plainly, trains(4)),
    (scaled, trains(5)),
    (scaled_by_an_optimizer_that_can, trains(5)),
    (compiled, trains(4, 2)),
    (compiled_whole, trains(4, 2)),
    (compiled_beside_modules_that_change_themselves, trains(4, 2)),
    (foreach, trains(4)),
    (masters, trains(4, 3)),
    (flat_masters, trains(4, 2)),
    (accumulated, trains(4, 3)),
    (with_another_teacher, trains(4, 2)),
    (its_own_teacher, trains(4, 4, 2)),
    (its_own_reference, trains(4, 2, 1)),
    (evaluated, EVALUATES * 2 + trains(2, 2) + EVALUATES * 2 + trains(2, 2) + EVALUATES * 2),
    (evaluated_amid_batches, (trains(1) + EVALUATES + trains(1)) * 2),
    (contrasted, trains(4, 2)),
    (two_optimizers, trains(4)),
    (by_closure, trains(4, 2)),
    (inferred, [("", 1, 0)] * 4),
    (skipped, trains(1) + trains(1, 1, 0) + trains(2)),
    (skipped_in_backward, trains(1) + trains(1, 1, 0) + trains(2)),
]


def named(loops: Iterable[tuple[Loop, Summary]]) -> list[object]:
    """Cases by the names of their loops."""
    return [pytest.param(loop, wanted, id=loop.__name__) for loop, wanted in loops]


@pytest.mark.parametrize(("loop", "wanted"), named(LOOPS))
def test_steps_end_where_the_loop_ends_them(loop: Loop, wanted: Summary, tmp_path: Path) -> None:
    model = Net()
    with tensortap.tap(model, run="r", spool=tmp_path, detail_steps=0):
        loop(model)
    assert summary(tmp_path) == wanted


def test_the_overflow_is_in_the_step_that_was_skipped(tmp_path: Path) -> None:
    model = Net()
    with tensortap.tap(model, run="r", spool=tmp_path, detail_steps=0):
        scaled(model)
    assert [any(value.role == "parameter_gradient" and overflows(value) for value in step.values) for step in only(tmp_path).steps] == [
        True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_nothing_that_is_heard_is_left_behind(level: str, tmp_path: Path) -> None:
    def heard() -> list[object]:
        return [torch.amp.GradScaler.step, torch.autograd.graph._engine_run_backward, torch.autograd._engine_run_backward]  # type: ignore[attr-defined]

    before, model = heard(), Net()
    with tensortap.tap(model, run="r", level=level, spool=tmp_path):
        plainly(model)
        assert not set(map(id, heard())) & set(map(id, before))
    assert heard() == before


def odd(spool: Path) -> list[dict[str, int]]:
    """Of each step, what looks wrong in it."""
    return [{subject: times for (reason, subject), times in step.unseen.items() if reason == unseen.ODD_STEP} for step in only(spool).steps]


def test_two_steps_of_an_optimizer_in_one_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with tensortap.tap(model, run="r", spool=tmp_path) as tap:
        for _ in range(2):
            plainly(model)
            tap.step()
    assert odd(tmp_path) == [{}, {}, {}, {}, {steps.TWO_STEPS: 3}]  # what was ended by the first step() began by itself
    assert capsys.readouterr().err.count("steps look wrong: an optimizer stepped twice in one; call step() of the tap") == 1


def test_very_many_micro_steps_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_MICRO_STEPS", 3)
    model = Net()
    optimizer = sgd(model)
    with tensortap.tap(model, run="r", spool=tmp_path):
        for micro_steps in (3, 5):
            for _ in range(micro_steps):
                backward(model)
            optimizer.step()
    assert odd(tmp_path) == [{}, {steps.MANY_MICRO_STEPS: 1}]
    assert capsys.readouterr().err.count("steps look wrong: more than 1,000 micro steps in one;") == 1


@pytest.mark.parametrize("loop", [plainly, scaled, flat_masters, two_optimizers, by_closure, accumulated, evaluated], ids=lambda loop: loop.__name__)
def test_nothing_is_told_of_steps_that_are_right(loop: Loop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with tensortap.tap(model, run="r", spool=tmp_path, detail_steps=0):
        loop(model)
    assert not any(odd(tmp_path))
    assert capsys.readouterr().err == ""
