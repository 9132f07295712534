"""Where one step of a rank ends and the next begins."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any, Final, Protocol

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from tensortap.serving import Request


class Handle(Protocol):
    """What a registration returns."""

    def remove(self) -> None:
        """Undo it."""


@dataclass(frozen=True)
class Facts:
    """What an application tells of a step. Empty or None: not known."""

    phase: str = ""
    tokens: int | None = None
    requests: int | None = None
    served: tuple[Request, ...] = ()

    @property
    def request_ids(self) -> tuple[str, ...]:
        """The engine's names of the requests."""
        return tuple(request.name for request in self.served)


class Boundaries:
    """Decides at each outermost forward whether it begins a step.

    A step that an optimizer of these models ends takes in all forwards until then, as micro steps. Without an
    optimizer each forward is a step. After an explicit step() nothing is decided here any more.
    """

    def __init__(self, roots: list[nn.Module]) -> None:
        self._parameters: Final = {id(parameter) for root in roots for parameter in root.parameters()}
        self._ours: dict[int, bool] = {}
        self._stepped = False
        self._trains = True
        self._found: bool | None = None
        self._explicit = False
        self._handle: Handle | None = register_optimizer_step_post_hook(self._after_step)

    def explicit(self) -> None:
        """The application says itself where steps end."""
        self._explicit = True

    def begins_step(self, under_way: bool) -> bool:
        """Whether the forward that is about to run begins a step; under_way: whether one is recorded or counted now."""
        if not under_way:
            return True
        if self._explicit:
            return False
        if self._stepped:
            self._stepped = False
            return True
        return not (self._trains and self._waits_for_optimizer())

    def begun(self) -> None:
        """A step begins. One without gradients evaluates, and no optimizer ends it."""
        self._stepped = False
        self._trains = torch.is_grad_enabled()

    def close(self) -> None:
        """Undo what was registered."""
        if self._handle:
            self._handle.remove()
            self._handle = None

    def _waits_for_optimizer(self) -> bool:
        if not torch.is_grad_enabled():
            return False
        if self._found is None:
            self._found = any(self._has_ours(optimizer) for optimizer in _optimizers())
        return self._found

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        ours = self._ours.get(id(optimizer))
        if ours is None:
            ours = self._ours[id(optimizer)] = self._has_ours(optimizer)
        if ours:
            self._found = self._stepped = True

    def _has_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        return any(id(parameter) in self._parameters for group in optimizer.param_groups for parameter in group["params"])


def _optimizers() -> list[torch.optim.Optimizer]:
    """The optimizers of the process; looked for once, when a second forward comes before any has stepped."""
    return [found for found in gc.get_objects() if _is_optimizer(found)]


def _is_optimizer(found: object) -> bool:
    return issubclass(type(found), torch.optim.Optimizer) and hasattr(found, "param_groups")
