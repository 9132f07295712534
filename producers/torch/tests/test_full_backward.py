"""Gradients of modules as msProbe takes them: with those of inputs, and without breaking what works in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reading
import torch
from models import small, train
from torch import Tensor, nn

import tensortap


def test_modules_have_gradients_of_inputs_and_outputs_and_train_on(tmp_path: Path) -> None:
    model, batch = small()
    want = train(model, batch, 3)
    model, batch = small()
    with tensortap.tap(model, run="full", level="L0", backward="full", spool=tmp_path):
        losses = train(model, batch, 3)
    assert all(torch.allclose(one, other) for one, other in zip(losses, want, strict=True))
    step = reading.only(tmp_path).steps[1]
    lost = {f"blocks.{block}.act" for block in range(3)}
    assert step.unseen == {("no backward hook", path): 1 for path in lost}
    values = {(value.op, value.role, value.path): value.layout["shape"] for value in step.values}
    name = "Module.blocks.1.down.Linear.backward.0"
    assert values[name, "input", "0"] == [8, 16]
    assert values[name, "output", "0"] == [8, 32]
    assert step.completed.index("Module.blocks.1.norm.LayerNorm.backward.0") < step.completed.index("Module.blocks.1.Block.backward.0")
    gone = {"Module.blocks.1.up.Linear.backward.0", "Module.blocks.1.act.ReLU.backward.0"}
    assert gone.isdisjoint(step.begun), "what works in place removes the nodes, as it does those of msProbe"


class _Nested(nn.Module):
    """Is given its input by name, as many models give it, and returns tensors in a dict and a list."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.kept: list[Tensor] = []

    def forward(self, *, given: Tensor) -> dict[str, Any]:
        made = self.inner(given)
        self.kept = [made * 2, torch.arange(3)]
        return {"none": None, "first": made, "rest": self.kept}


class _Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.nested = nn.Linear(4, 4), _Nested()

    def forward(self, given: Tensor) -> Tensor:
        made = self.nested(given=self.before(given))
        assert made["rest"] is self.nested.kept, "a list remains the object that it is"
        total: Tensor = made["first"].sum() + 3 * made["rest"][0].sum()
        return total


def test_gradients_of_nested_values_lie_in_a_row_and_parents_are_modules_under_way(tmp_path: Path) -> None:
    model = nn.Sequential(_Outer())
    with tensortap.tap(model, run="full", level="mix", backward="full", spool=tmp_path):
        torch.autograd.backward(model(torch.ones(2, 4, requires_grad=True)))
    (step,) = reading.only(tmp_path).steps
    assert not step.unseen
    name = "Module.0.nested._Nested.backward.0"
    given = [(value.role, value.path, value.row[6]) for value in step.values if value.op == name]
    assert given == [("input", "0", 1.0), ("input", "1", 3.0)], "no gradient of what is no tensor or needs none"
    assert step.parents["Module.0.nested.inner.Linear.backward.0"] == "Module.0._Outer.backward.0", "a module without positional inputs ends at once"
    assert step.parents["Functional.linear.1.backward"] == "Module.0.nested.inner.Linear.backward.0"
    assert step.parents["Module.0._Outer.backward.0"] is None
