"""The trainers of transformers and Lightning, which say themselves where their steps are."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import tensortap
from tests.reading import only
from tests.test_steps import calls, phase_of

GIVEN = torch.ones(4)
# Of each step: its phase, the trainer's own step, and how often its first layer was called forward and backward.
Row = tuple[str, int | None, int, int]


class Net(nn.Module):
    """Two layers and a loss, as the Trainer wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, given: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        """The loss, and what it is of."""
        answer = self.outer(self.inner(given))
        return {"loss": answer.square().mean(), "logits": answer}


class Same(Dataset[Any]):
    """Sixteen samples, all alike."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, at: int) -> Any:
        return {"given": GIVEN, "labels": GIVEN[:1]}


def rows(spool: Path) -> list[Row]:
    """All steps of the one process."""
    spooled = only(spool)
    return [
        (phase_of(spooled, step), step.ended[9] - 1 if step.ended and step.ended[9] else None, calls(step, "forward"), calls(step, "backward"))
        for step in spooled.steps
    ]


@pytest.mark.parametrize("own", [True, False])
def test_a_step_of_transformers_trainer_has_its_number(own: bool, tmp_path: Path) -> None:
    from transformers import Trainer, TrainingArguments

    model = Net()
    arguments = TrainingArguments(
        str(tmp_path / "out"), per_device_train_batch_size=2, per_device_eval_batch_size=8, gradient_accumulation_steps=2, max_steps=4,
        eval_strategy="steps", eval_steps=2, report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    tap = None if own else tensortap.tap(model, run="r", spool=tmp_path / "spool")
    callback = tensortap.huggingface.Callback(run="r", spool=tmp_path / "spool") if own else tensortap.huggingface.Callback(tap)
    Trainer(model, arguments, train_dataset=Same(), eval_dataset=Same(), callbacks=[callback]).train()
    if tap:
        tap.close()
    trained: list[list[Row]] = [[("train", at, 2, 2)] for at in range(4)]
    evaluated: list[list[Row]] = [[("evaluate", at, 1, 0)] * 2 for at in (2, 4)]
    assert rows(tmp_path / "spool") == trained[0] + trained[1] + evaluated[0] + trained[2] + trained[3] + evaluated[1]


def test_a_step_of_lightnings_trainer_has_its_number(tmp_path: Path) -> None:
    from lightning.pytorch import LightningModule, Trainer

    class Module(LightningModule):
        """Its own forward is never called."""

        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 1)

        def training_step(self, batch: Any, number: int) -> Tensor:
            loss: Tensor = self.outer(self.inner(batch["given"])).square().mean()
            return loss

        validation_step = training_step

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    trainer = Trainer(
        accelerator="cpu", max_steps=4, accumulate_grad_batches=2, val_check_interval=4, num_sanity_val_steps=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path / "out",
        callbacks=[tensortap.lightning.Callback(run="r", spool=tmp_path / "spool")],
    )  # fmt: skip
    trainer.fit(Module(), DataLoader(Same(), batch_size=2), DataLoader(Same(), batch_size=8))
    trained: list[list[Row]] = [[("train", at, 2, 2)] for at in range(4)]
    evaluated: list[list[Row]] = [[("evaluate", at, 1, 0)] * 2 for at in (2, 4)]
    sane: list[Row] = [("sanity check", 0, 1, 0)]
    assert rows(tmp_path / "spool") == sane + trained[0] + trained[1] + evaluated[0] + trained[2] + trained[3] + evaluated[1]


@pytest.mark.parametrize(("name", "wants"), [("huggingface", ["transformers"]), ("lightning", ["lightning.pytorch", "pytorch_lightning"])])
def test_a_trainer_that_is_not_there_is_named(name: str, wants: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"tensortap.{name}", raising=False)
    for want in wants:
        monkeypatch.setitem(sys.modules, want, None)
    with pytest.raises(ImportError, match=f"tensortap.{name} is for the Trainer of .*{wants[-1]}"):
        importlib.import_module(f"tensortap.{name}")
