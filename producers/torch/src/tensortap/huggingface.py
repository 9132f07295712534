"""The Trainer of transformers: it says itself where its steps are, and which."""

from __future__ import annotations

from typing import Any

from torch import nn

from tensortap._config.settings import settings as read
from tensortap._session.session import Session

try:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ImportError as error:
    raise ImportError("tensortap.huggingface is for the Trainer of transformers, which cannot be imported here") from error


class Callback(TrainerCallback):
    """Records what a Trainer trains: `Trainer(..., callbacks=[tensortap.huggingface.Callback(run="trial")])`.

    Each of the Trainer's steps is one step, of any optimizer, with the Trainer's global step in its row. With the tap of
    someone else it only tells that one; else it makes its own as the training begins, with these settings, and closes it
    where the training ends. Raises SettingsError here, and nothing later.
    """

    def __init__(self, tap: Session | None = None, **settings: Any) -> None:
        self._tap = tap
        self._settings = None if tap else read(**settings)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: nn.Module | None = None, **others: Any
    ) -> None:
        """Tap the model, if no tap was given."""
        if self._settings and model is not None:
            self._tap = Session(self._settings, model)

    def on_step_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """A step begins, before the first of its batches."""
        if self._tap:
            self._tap.trainer_begins(state.global_step)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """It ends, behind the optimizer, whether that was skipped or not."""
        if self._tap:
            self._tap.trainer_ends(state.global_step)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """Close what was made here."""
        if self._settings and self._tap:
            self._tap.close()
            self._tap = None
