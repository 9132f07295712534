"""Gradients of modules as msProbe takes them: with those of inputs, and without breaking what works in place."""

from __future__ import annotations

from pathlib import Path

import reading
import torch
from models import small, train

import tensortap


def test_modules_have_gradients_of_inputs_and_outputs_and_train_on(tmp_path: Path) -> None:
    model, batch = small()
    want = train(model, batch, 3)
    model, batch = small()
    with tensortap.tap(model, run="full", level="L0", backward="full", spool=tmp_path):
        losses = train(model, batch, 3)
    assert all(torch.allclose(one, other) for one, other in zip(losses, want, strict=True))
    step = reading.only(tmp_path).steps[1]
    assert not step.unseen
    values = {(value.op, value.role, value.path): value.layout["shape"] for value in step.values}
    name = "Module.blocks.1.down.Linear.backward.0"
    assert values[name, "input", "0"] == [8, 16]
    assert values[name, "output", "0"] == [8, 32]
    assert step.completed.index("Module.blocks.1.norm.LayerNorm.backward.0") < step.completed.index("Module.blocks.1.Block.backward.0")
    lost = {"Module.blocks.1.up.Linear.backward.0", "Module.blocks.1.act.ReLU.backward.0"}
    assert lost.isdisjoint(step.completed), "what works in place removes the nodes, as it does those of msProbe"
