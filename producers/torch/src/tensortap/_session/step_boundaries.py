"""Where one step of a rank ends and the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from tensortap._health.memory import Component
from tensortap._hooks.weight_updates import Weights, backwards, has_one_of, optimizers_of, scalers, weights_of, work_on_copies
from tensortap._record.guard import Guard
from tensortap._record.model_roots import Roots
from tensortap._record.served_requests import Request
from tensortap._session.armed import Handle

MOST_MICRO_STEPS: Final = 1000  # that look right
MANY_MICRO_STEPS: Final = f"more than {MOST_MICRO_STEPS:,} micro steps"
TWO_STEPS: Final = "an optimizer stepped twice"


@dataclass(frozen=True)
class Facts:
    """What an application tells of a step. Empty or None: not known."""

    phase: str = ""
    tokens: int | None = None
    requests: int | None = None
    served: tuple[Request, ...] = ()
    global_step: int | None = None  # the trainer's own count of optimizer steps before this one
    read_kv: Callable[[], Iterable[Component]] = tuple  # the engine's KV cache, asked as the step ends

    @property
    def request_ids(self) -> tuple[str, ...]:
        """The engine's names of the requests."""
        return tuple(request.name for request in self.served)


class Boundaries:
    """Decides at each outermost forward whether it begins a step.

    A step that an optimizer of these models ends takes in all forwards until then: those of the model that began it are
    its micro steps. Where no optimizer has weights of these models, one that has copies of such is theirs. One that is
    compiled tells nothing, but changes the weights. A step that a GradScaler skips, as values overflowed, is one like others.
    A forward without gradients in evaluation mode, of a model that trained in the step, evaluates, which is a phase and no
    part of the step; in the mode that the model has in the step it is that of a teacher, which may also come first.
    A batch that raises, forward or backward, is given up. Without an optimizer a step ends where a model that was called in it is
    called again. After an explicit step() nothing is decided here any more,
    but where a trainer says so for its own steps only.
    """

    def __init__(self, roots: Roots, guard: Guard, odd: Callable[[str], object]) -> None:
        """What looks wrong in a step is told to odd, as often as it is met."""
        self._roots, self._odd = roots, odd
        self._ours: WeakKeyDictionary[torch.optim.Optimizer, bool] = WeakKeyDictionary()
        self._stepped = False
        self._given_up = False  # the batch: the model raised
        self._trains, self._has_trained = True, False
        self._found: bool | None = None  # an optimizer that ends steps
        self._have_own: bool | None = None  # one that has parameters of the models themselves
        self._explicit = False
        self._weights = Weights(roots)
        self._entered: dict[int, bool] = {}  # in the step under way: the models' places, and whether in training mode at first
        self._micro_step = 0
        self._updated: set[tuple[int, int]] = set()  # in the step under way: optimizers, each with its first weight
        self._within = False  # an optimizer, which may call a model
        self._handles: list[Handle] = [
            register_optimizer_step_pre_hook(guard.hook("before an optimizer", self._before_step)),
            register_optimizer_step_post_hook(guard.hook("after an optimizer", self._after_step)),
        ]
        self._watches = [
            scalers(guard.hook("after a scaler", self._after_scaler)),
            backwards(guard.hook("after a backward", self._after_backward)),
        ]
        for watch in self._watches:
            watch.install()

    def explicit(self, explicit: bool = True) -> None:
        """Whether the application says itself where steps end, from here on."""
        self._explicit = explicit

    def more_models(self) -> None:
        """There are further models, which may have optimizers of their own."""
        self._ours.clear()
        self._look_again()

    def begins_step(self, root: nn.Module, under_way: bool, phase: str = "") -> bool:
        """Whether the forward of a model that is about to run begins a step; under_way: whether one is, and of which phase if that is known."""
        if not under_way:
            return True
        if self._explicit:
            return False
        if self._stepped or self._given_up:
            return True
        if self._trains and self._have_optimizer():
            return self._turns_to_evaluation(root) or self._have_weights_changed()
        if self._roots.place(root) not in self._entered:
            return False
        return bool(phase) or not self._learns_of_itself(root)

    def begun(self) -> None:
        """A step begins. One without gradients evaluates, and no optimizer ends it, unless a model is called with gradients later."""
        trains = torch.is_grad_enabled()
        if trains and not self._has_trained:
            self._has_trained = True
            self._look_again()  # an optimizer may have been made since something was evaluated
        self._stepped, self._given_up, self._trains = False, False, trains
        self._entered.clear()
        self._updated.clear()
        self._micro_step = 0
        self._weights.remember()

    def enter(self, root: nn.Module) -> bool:
        """A model is called in the step under way. Whether that is a further micro step."""
        self._trains = self._trains or torch.is_grad_enabled()
        model = self._roots.place(root)
        if model in self._entered:
            return self.is_led_by(model) and self._further()
        self._entered[model] = root.training
        return False

    def raised(self) -> None:
        """A model raised, or the backward pass. A program that goes on does so with another batch."""
        self._given_up = True

    def is_led_by(self, model: int) -> bool:
        """Whether the model was the first to be called in the step under way."""
        return next(iter(self._entered), -1) == model

    def phase(self) -> str:
        """Whether the step under way trains or evaluates; empty where neither is known."""
        if self._stepped or (self._trains and any(self._entered.values())):
            return "train"
        if not self._trains and self._entered and self._have_optimizer():
            return "evaluate"
        return "train" if self._is_training() else ""

    def phase_ahead(self) -> str:
        """The phase of a step that has only begun; what the model does in it may show another."""
        if self._trains:
            return "train" if any(root.training for root in self._roots) else ""
        return "evaluate" if self._have_optimizer() else ""

    def close(self) -> None:
        """Undo what was registered."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        for watch in reversed(self._watches):
            watch.remove()

    def _is_training(self) -> bool:
        """Whether a model that was called in the step, or any where that is not known, is in training mode."""
        return any(root.training and (not self._entered or self._roots.place(root) in self._entered) for root in self._roots)

    def _turns_to_evaluation(self, root: nn.Module) -> bool:
        return not torch.is_grad_enabled() and not root.training and self._entered.get(self._roots.place(root), False)

    def _learns_of_itself(self, root: nn.Module) -> bool:
        """Whether the model, which was called without gradients just before, is called with such, in the same mode, to be trained."""
        same = root.training and self._entered[self._roots.place(root)]
        return same and not self._trains and torch.is_grad_enabled() and self._have_optimizer()

    def _have_weights_changed(self) -> bool:
        return not self._within and self._weights.have_changed()

    def _look_again(self) -> None:
        self._have_own = self._have_own or None
        self._found = self._found or None

    def _have_optimizer(self) -> bool:
        if self._found is None:
            self._found = self._has_own() or work_on_copies(self._roots)
        return self._found

    def _has_own(self) -> bool:
        if self._have_own is None:
            self._have_own = bool(optimizers_of(self._parameters()))
        return self._have_own

    def _before_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self._within = True

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self._within = False
        if self._is_ours(optimizer):
            self._found = self._stepped = True
            self._update(optimizer)

    def _update(self, optimizer: torch.optim.Optimizer) -> None:
        """Weights are updated once in a step. One optimizer may do so group by group."""
        key = id(optimizer), id(next(weights_of(optimizer), None))
        if key in self._updated:
            self._odd(TWO_STEPS)
        self._updated.add(key)

    def _further(self) -> bool:
        self._micro_step += 1
        if self._micro_step == MOST_MICRO_STEPS:
            self._odd(MANY_MICRO_STEPS)
        return True

    def _after_scaler(self, returned: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What a scaler skips ends a step, too: the next batch begins with other gradients."""
        if returned and self._is_ours(kwargs["optimizer"] if "optimizer" in kwargs else args[1]):
            self._found = self._stepped = True

    def _after_backward(self, returned: bool, args: object, kwargs: object) -> None:
        if not returned:
            self.raised()

    def _is_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether it has parameters of the models; where none has, each is taken to have copies of them."""
        ours = self._ours.get(optimizer)
        if ours is None:
            ours = self._ours[optimizer] = has_one_of(self._parameters(), optimizer)
        if ours:
            self._have_own = True
        return ours or not self._has_own()

    def _parameters(self) -> set[int]:
        return {id(parameter) for root in self._roots for parameter in root.parameters()}
