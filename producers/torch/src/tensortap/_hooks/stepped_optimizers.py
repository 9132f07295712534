"""The optimizers of a process, as far as they have stepped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from tensortap._record.guard import Guard


class SteppedOptimizers:
    """Hears of each optimizer just before it steps, between install and remove."""

    def __init__(self, guard: Guard, heard: Callable[[], None]) -> None:
        self.optimizers: WeakSet[Optimizer] = WeakSet()
        self._hook = guard.hook("an optimizer that steps", self._steps)
        self._heard = heard
        self._handle: Any = None

    def install(self) -> None:
        """Hook, if that is not done."""
        if self._handle is None:
            self._handle = register_optimizer_step_pre_hook(self._hook)

    def remove(self) -> None:
        """Undo it."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _steps(self, optimizer: Optimizer, args: object, kwargs: object) -> None:
        self.optimizers.add(optimizer)
        self._heard()
