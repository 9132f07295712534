"""After the first value that is not finite, some steps are recorded whole; the model does not notice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap

NAN, INFINITY = float("nan"), float("inf")


class _Shows(nn.Module):
    """Returns what it is given, and beside it a value to look at."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.shown = nn.Linear(4, 4), 0.0

    def forward(self, given: Tensor) -> dict[str, Tensor]:
        return {"made": self.inner(given), "shown": torch.tensor([1.0, self.shown])}


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Shows() for _ in range(2))

    def forward(self, given: Tensor) -> Tensor:
        for layer in self.layers:
            given = layer(given)["made"]
        return given


def _train(shown: float, spool: Path | None, **settings: Any) -> list[Tensor]:
    torch.manual_seed(3)
    model, batch = _Model(), torch.randn(2, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tap = tensortap.tap(model, run="detail", spool=spool, enabled=spool is not None, **settings)
    losses = []
    for step in range(6):
        model.layers[1].shown = shown if step == 1 else 0.0
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.detach())
        tap.step()
    tap.close()
    return losses


def _detailed(spool: Path) -> list[int]:
    """The steps with ops below modules; each of their tensors has a sketch and a digest."""
    found = []
    for step in reading.only(spool).steps:
        assert {reason for reason, _ in step.unseen} <= {"step not wanted"}
        extended = [{kind for kind, _ in value.more} for value in step.values if value.layout["kind"] == "tensor"]
        if any(name.startswith("Functional.linear") for name in step.completed):
            assert step.parents["Functional.linear.1.forward"] == "Module.layers.1.inner.Linear.forward.0"
            assert all(kinds >= {"sketch", "digest"} for kinds in extended)
            found.append(step.number)
        else:
            assert not any(kinds & {"sketch", "digest"} for kinds in extended)
    return found


def test_two_steps_after_the_first_nan_are_recorded_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = _train(NAN, tmp_path)
    assert all(torch.equal(one, other) for one, other in zip(losses, _train(NAN, None), strict=True))
    assert _detailed(tmp_path) == [2, 3]
    assert capsys.readouterr().err.count("a value was not finite: 2 steps from 2 on are recorded at level mix") == 1


@pytest.mark.parametrize(
    ("shown", "settings", "steps"),
    [(INFINITY, {"detail_steps": 1}, [2]), (-INFINITY, {}, []), (NAN, {"detail_steps": 0}, []), (NAN, {"steps": "0-1,4-"}, [4, 5])],
    ids=["infinity", "as masks are", "off", "of those recorded"],
)
def test_which_values_and_how_many_steps(shown: float, settings: dict[str, Any], steps: list[int], tmp_path: Path) -> None:
    _train(shown, tmp_path, **settings)
    assert _detailed(tmp_path) == steps


class _Allocates(nn.Module):
    def forward(self, given: Tensor) -> Tensor:
        out = torch.empty_like(given)
        out.fill_(1.0)
        return given * out


@pytest.mark.usefixtures("deterministic")
def test_memory_that_nobody_wrote_yet_asks_for_no_detail(tmp_path: Path) -> None:
    assert torch.utils.deterministic.fill_uninitialized_memory
    model = _Allocates()
    with tensortap.tap(model, run="allocates", level="mix", spool=tmp_path) as tap:
        for _ in range(3):
            assert model(torch.ones(4)).isfinite().all()
            tap.step()
    steps = reading.only(tmp_path).steps
    assert any(name.startswith("Tensor.fill_") for step in steps for name in step.completed)
    assert not any(kind == "sketch" for step in steps for value in step.values for kind, _ in value.more)
