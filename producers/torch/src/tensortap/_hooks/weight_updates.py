"""Updates of weights that no hook of an optimizer tells of: those that a scaler of losses skips."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch


class ScalerWatch:
    """Hears of each optimizer that a torch.amp.GradScaler steps, or would but for an overflow, between install and remove."""

    def __init__(self, heard: Callable[[torch.optim.Optimizer], object]) -> None:
        self._heard = heard
        self._original: Callable[..., Any] | None = None
        self._wrapped: Callable[..., Any] | None = None

    def install(self) -> None:
        """Wrap the method, which the scalers of devices and of sharded gradients have from this class."""
        original = torch.amp.GradScaler.step
        if self._wrapped is not None:
            return

        @functools.wraps(original)
        def step(scaler: torch.amp.GradScaler, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
            result = original(scaler, optimizer, *args, **kwargs)
            if self._wrapped is not None:
                self._heard(optimizer)
            return result

        self._original, self._wrapped = original, step
        setattr(torch.amp.GradScaler, "step", step)

    def remove(self) -> None:
        """Put the original back. What was wrapped since keeps a wrap of ours that does nothing."""
        if self._wrapped is not None and torch.amp.GradScaler.step is self._wrapped:
            setattr(torch.amp.GradScaler, "step", self._original)
        self._wrapped = None
