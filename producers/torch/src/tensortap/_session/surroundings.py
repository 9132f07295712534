"""What else a program computes with: threads, algorithms, the optimizers and their first settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import torch
from torch import nn

from tensortap import _torch_compat
from tensortap._hooks import weight_updates
from tensortap._stats import kernel

_MOST_OPTIMIZERS: Final = 8


def of(model: nn.Module | None) -> Mapping[str, object]:
    """Each by its name, as it is now, when the first step begins. What is not set is left out."""
    found: dict[str, object] = {
        "torch threads": torch.get_num_threads(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn deterministic": torch.backends.cudnn.deterministic,
        "cudnn benchmark": torch.backends.cudnn.benchmark,
    }
    with suppress(RuntimeError):  # where the program sets it by torch's newer names
        found["float32 matmul precision"] = torch.get_float32_matmul_precision()
    if kernel.load() is None:
        found["statistics"] = "by PyTorch: the collector has no C kernel"
    trained = {id(parameter) for parameter in model.parameters() if parameter.requires_grad} if model is not None else set()
    if trained and not torch.is_inference_mode_enabled():
        optimizers = weight_updates.optimizers_of(trained)
        for at, optimizer in enumerate(optimizers[:_MOST_OPTIMIZERS]):
            name = f"optimizer {at}" if at else "optimizer"
            found[name] = type(optimizer).__name__
            found |= {f"{name} {key}": value for key, value in _settings(optimizer.param_groups).items()}
    return found


def _settings(groups: Iterable[Mapping[str, Any]]) -> Mapping[str, object]:
    """What the groups of parameters are given: one value where all are given the same, else a list of theirs."""
    each: dict[str, list[object]] = {}
    for group in groups:
        for key, value in group.items():
            if key != "params" and (shown := _shown(value)) is not None:
                each.setdefault(key, []).append(shown)
    return {key: values[0] if all(value == values[0] for value in values) else values for key, values in each.items()}


def _shown(value: object) -> object:
    """A number, text or a few of them; None for anything else. No tensor is read but one on the CPU."""
    if isinstance(value, torch.Tensor):
        with _torch_compat.DisableTorchDispatch():
            return float(value) if value.numel() == 1 and value.device.type == "cpu" else None
    if isinstance(value, tuple | list):
        shown = [_shown(one) for one in value]
        return shown if None not in shown else None
    return value if isinstance(value, bool | int | float | str) else None
