"""Lightning's Trainer: it says itself where its steps are, and which."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any, Final

from tensortap._config.settings import settings as read
from tensortap._session.session import Session

_PACKAGES: Final = ("lightning.pytorch", "pytorch_lightning")


def _base() -> Any:
    """The class of callbacks, of the package that the program uses where both are there."""
    for name in sorted(_PACKAGES, key=lambda name: name not in sys.modules):
        with suppress(ImportError):
            return importlib.import_module(name).Callback
    raise ImportError("tensortap.lightning is for the Trainer of lightning.pytorch or pytorch_lightning, neither of which can be imported here")


class Callback(_base()):  # type: ignore[misc]
    """Records what a Trainer fits: `Trainer(callbacks=[tensortap.lightning.Callback(run="trial")])`.

    Each of the Trainer's steps is one step, of any number of batches and optimizers, with its global step in its row. A
    batch of validation or of the sanity check is a row of its own, of that phase. With the tap of someone else it only
    tells that one; else it makes its own as fit begins, with these settings, and closes it where fit ends. Raises
    SettingsError here, and nothing later.
    """

    def __init__(self, tap: Session | None = None, **settings: Any) -> None:
        super().__init__()
        self._tap = tap
        self._settings = None if tap else read(**settings)
        self._begun = -1  # global step of the step under way

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Tap the module, if no tap was given."""
        if self._settings and not self._tap and stage == "fit":
            self._tap = Session(self._settings, pl_module)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Close what was made here."""
        if self._settings and self._tap:
            self._tap.close()
            self._tap = None

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """A step begins with the first batch of those that are accumulated."""
        if self._tap and self._begun != trainer.global_step:
            self._begun = trainer.global_step
            self._tap.trainer_begins(self._begun)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """It ends behind an optimizer."""
        if self._tap and self._begun != trainer.global_step:
            self._tap.trainer_ends(trainer.global_step)

    def on_validation_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """A batch is evaluated."""
        if self._tap:
            self._begun = -1
            self._tap.trainer_begins(trainer.global_step, "sanity check" if trainer.sanity_checking else "evaluate")

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """It was."""
        if self._tap:
            self._tap.trainer_ends(trainer.global_step)
