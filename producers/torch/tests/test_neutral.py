"""A tap changes no bit of losses, gradients and weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from models import resnet18, small, tiny_llama

import tensortap

STEPS = 8


def _llama() -> tuple[torch.nn.Module, Callable[[torch.nn.Module], torch.Tensor]]:
    pytest.importorskip("transformers", reason="the model of the fixtures")
    model, batch = tiny_llama()
    batch = {name: tokens[:, :32] for name, tokens in batch.items()}  # what is neutral on few tokens is on many
    return model, lambda model: model(**batch).loss


def _resnet() -> tuple[torch.nn.Module, Callable[[torch.nn.Module], torch.Tensor]]:
    pytest.importorskip("torchvision", reason="the model of the fixtures")
    model, images = resnet18()
    images = images[..., :32, :32]
    return model, lambda model: model(images).square().mean()


def _checkpointed() -> tuple[torch.nn.Module, Callable[[torch.nn.Module], torch.Tensor]]:
    model, batch = small(checkpointed=True)
    return model, lambda model: model(batch).square().mean()


MODELS = {"llama": _llama, "resnet18": _resnet, "checkpointed": _checkpointed}


def _train(name: str, level: str | None, root: Path) -> list[torch.Tensor]:
    model, loss_of = MODELS[name]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    session: Any = tensortap.tap(model, run="neutral", level=level, spool=root) if level else None
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    if session:
        session.close()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return [*losses, *gradients, *model.state_dict().values()]


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", MODELS)
def test_losses_gradients_and_weights_stay_bit_equal(name: str, tmp_path: Path) -> None:
    without = _train(name, None, tmp_path)
    for level in ("L0", "L1", "mix"):
        recorded = _train(name, level, tmp_path / level)
        assert len(recorded) == len(without)
        assert all(torch.equal(one, other) for one, other in zip(recorded, without, strict=True)), level
        (spool,) = (tmp_path / level).iterdir()
        assert reading.read_header(spool)["step"] == STEPS - 1, "the last was recorded, too"


def test_a_recomputed_forward_is_the_next_call_of_its_module(tmp_path: Path) -> None:
    model, batch = small(checkpointed=True)
    with tensortap.tap(model, run="recompute", level="mix", spool=tmp_path):
        model(batch).sum().backward()
    step = reading.only(tmp_path).steps[0]
    assert step.begun.count("Module.blocks.1.up.Linear.forward.0") == 1
    assert step.begun.count("Module.blocks.1.up.Linear.forward.1") == 1
    assert "Functional.linear.12.forward" in step.completed, "seven calls, and six again within the backward"
    assert not step.failures and not step.unseen
