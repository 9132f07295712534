"""Updates of weights that no hook of an optimizer tells of: those that a scaler of losses skips, those by compiled code, those of copies."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeGuard
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from tensortap import _torch_compat
from tensortap._hooks.function_watch import Watch

_MOST_WEIGHTS: Final = 16


def scalers(heard: Callable[..., object]) -> Watch:
    """Hears of each optimizer that a GradScaler steps, or would but for an overflow; those of devices have the method from this class."""
    return Watch([torch.amp.GradScaler], "step", heard)


def backwards(heard: Callable[..., object]) -> Watch:
    """Hears of each run of autograd's engine."""
    return Watch(*_torch_compat.ENGINE_START, heard)


class Weights:
    """A few weights of each model, and whether something has changed them in place: code that is compiled calls no hook."""

    def __init__(self, models: Iterable[nn.Module]) -> None:
        self._models = models
        self._chosen: WeakKeyDictionary[nn.Module, list[ref[nn.Parameter]]] = WeakKeyDictionary()
        self._versions: dict[ref[nn.Parameter], int] = {}

    def remember(self) -> None:
        """Ask later whether they have changed since now."""
        self._versions.clear()
        for model in self._models:
            if (chosen := self._chosen.get(model)) is None:
                chosen = self._chosen[model] = _some_of(model)
            self._versions.update((held, weight._version) for held in chosen if (weight := held()) is not None)

    def have_changed(self) -> bool:
        """Whether most of those of one model have: some modules change a weight of their own as they are called."""
        return any(2 * sum(map(self._has_changed, chosen)) > len(chosen) for chosen in self._chosen.values())

    def _has_changed(self, held: ref[nn.Parameter]) -> bool:
        weight = held()
        return weight is not None and weight._version != self._versions.get(held, weight._version)


def _some_of(model: nn.Module) -> list[ref[nn.Parameter]]:
    """Weights that are trained, from all over the model."""
    trained = [weight for weight in model.parameters() if weight.requires_grad and not is_lazy(weight) and not weight.is_inference()]
    return [ref(weight) for weight in trained[:: 1 + len(trained) // _MOST_WEIGHTS]]


def optimizers_of(parameters: set[int]) -> list[torch.optim.Optimizer]:
    """The optimizers of the process that have one of these parameters, which are given by their ids."""
    return [found for found in _optimizers() if has_one_of(parameters, found)]


def has_one_of(parameters: set[int], optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimizer has one of these parameters, which are given by their ids."""
    return any(id(weight) in parameters for weight in weights_of(optimizer))


def work_on_copies(models: Iterable[nn.Module]) -> bool:
    """Whether an optimizer of the process has weights that no module has, wider than those of these models: it trains copies of such."""
    width = min((weight.itemsize for model in models for weight in model.parameters() if weight.requires_grad), default=8)
    wide = [found for found in _optimizers() if any(weight.itemsize > width for weight in weights_of(found))]
    if not wide:
        return False
    held = {id(weight) for found in gc.get_objects() if _is_module(found) for weight in found._parameters.values()}
    return any(not has_one_of(held, optimizer) for optimizer in wide)


def weights_of(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    """All of its groups."""
    return (weight for group in optimizer.param_groups for weight in group["params"])


def _optimizers() -> list[torch.optim.Optimizer]:
    """The optimizers of the process; looked for at its first step, and when a second forward comes before any has stepped."""
    return [found for found in gc.get_objects() if _is_optimizer(found)]


def _is_optimizer(found: object) -> bool:
    return issubclass(type(found), torch.optim.Optimizer) and hasattr(found, "param_groups")


def _is_module(found: object) -> TypeGuard[nn.Module]:
    return issubclass(type(found), nn.Module) and "_parameters" in found.__dict__
