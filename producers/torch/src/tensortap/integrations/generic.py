"""Any PyTorch program: each model that is called is tapped, in the very call."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, Final
from weakref import ref

import torch
from torch import nn

from tensortap._config.environment import wanted
from tensortap._config.settings import SettingsError
from tensortap._hooks.collective_calls import CollectiveCalls
from tensortap._record import module_calls, unseen
from tensortap._record.calls_under_way import called
from tensortap._record.guard import Guard, unintercepted
from tensortap._record.model_roots import FoundRoots, is_layer
from tensortap._session import forks, session
from tensortap._session.notices import Notices
from tensortap._spool.folder import SpoolError

MOST_MODELS: Final = 64  # of a process: to find one takes a look at all objects, and its names stay defined


class Finder:
    """Finds the models of a process: modules with parameters that are part of none that is known. It keeps none of them alive.

    What is beyond the limit is counted.
    """

    def __init__(self) -> None:
        self._met: dict[int, ref[nn.Module]] = {}
        self._roots = FoundRoots()
        self._session: session.Session | None = None
        self._models = 0
        self._stopped = False
        self._lock = threading.RLock()
        self._handle = module_calls.meet(self._before)
        self._calls = CollectiveCalls(Guard(unseen.Unseen()))  # numbered from the first one on, as at all ranks
        self._calls.install()
        forks.hear_of(self)

    def stop(self) -> None:
        """Look no further; what was found stays tapped."""
        self._stopped = True
        self._handle.remove()

    def expect(self, model: nn.Module) -> session.Session | None:
        """The tap on a model that is about to be called, by whoever knows that it is one; None if it is not tapped as one."""
        if not self._stopped and not self._knows(model):
            self._guarded(self._expected, model)
        return self._session if self._roots.place(model) >= 0 else None

    def rest(self) -> None:
        """The step under way ends: nothing is called until somebody asks for something."""
        if self._session:
            self._session.rest()

    def after_fork(self) -> None:
        """In a child: whoever held the lock is not here."""
        self._lock = threading.RLock()

    def _before(self, module: nn.Module) -> bool:
        if torch.compiler.is_compiling():
            return False
        if not self._knows(module):
            self._guarded(self._meet, module)
        return True

    def _knows(self, module: nn.Module) -> bool:
        known = self._met.get(id(module))
        return known is not None and known() is module

    def _guarded(self, action: Callable[[nn.Module], object], module: nn.Module) -> None:
        try:
            with self._lock, unintercepted():
                action(module)
        except (SettingsError, SpoolError) as error:
            self._give_up(str(error), module)
        except Exception as error:  # as in Guard: a model that nobody asked us to tap is being called
            self._give_up(f"{type(error).__name__}: {error}", module)

    def _expected(self, model: nn.Module) -> None:
        if not self._knows(model) and not self._is_beyond_limit(model):
            self._remember(model)
            self._tap(model)

    def _meet(self, module: nn.Module) -> None:
        if self._knows(module):  # since another thread met it, too
            self._begin(module)
            return
        self._remember(module)
        if not _has_parameters(module) or self._is_beyond_limit(module):
            return
        model = _topmost(module)
        is_known = self._roots.place(model) >= 0  # and has a part that it had not before
        self._tap(model)
        if not is_known:
            self._begin(model)
            self._begin_by_part(model, module)
        if is_known or is_layer(module):
            self._count_call(module)

    def _tap(self, model: nn.Module) -> None:
        self._models += 1
        self._session = self._session or session.Session(wanted(), self._roots, calls=self._calls)
        self._session.found(model)
        for part in model.modules():
            self._remember(part)
        if self._session.is_closed:
            self.stop()

    def _begin(self, model: nn.Module) -> None:
        if self._session and self._roots.place(model) >= 0:
            self._session.forward_begins(model)

    def _count_call(self, module: nn.Module) -> None:
        """The hooks of what is found come too late for its own call."""
        if self._session and self._session.settings.level in ("L0", "mix"):
            self._session.count(unseen.ANOTHER_MODEL, type(module).__name__)

    def _begin_by_part(self, model: nn.Module, part: nn.Module) -> None:
        """Let calls of a part begin steps: the whole may never be called, as around what PEFT adapts."""
        if self._session and part is not model:
            begins = self._session.hook("before a part", partial(_part_begins, self._session, ref(model)))
            self._session.undo_too(module_calls.before(part, begins, first=True))

    def _is_beyond_limit(self, module: nn.Module) -> bool:
        is_beyond = self._models >= MOST_MODELS
        if is_beyond and self._session:
            self._session.count(unseen.ANOTHER_MODEL, type(module).__name__)
        return is_beyond

    def _remember(self, module: nn.Module) -> None:
        key = id(module)
        self._met[key] = ref(module, lambda dead: self._forget(key, dead))

    def _forget(self, key: int, dead: ref[nn.Module]) -> None:
        if self._met.get(key) is dead:
            del self._met[key]

    def _give_up(self, reason: str, module: nn.Module) -> None:
        if self._session:
            self._session.count(unseen.ANOTHER_MODEL, type(module).__name__)
            return
        self.stop()
        Notices().say(f"nothing is recorded: {reason}")


def _part_begins(tapped: session.Session, whole: ref[nn.Module], part: nn.Module, args: object) -> None:
    model = whole()
    if model is not None and _is_outermost(part):
        tapped.forward_begins(model)


def _is_outermost(module: nn.Module) -> bool:
    """Whether no other module's call is under way in this thread, but of ones without parameters: a loss may call a model."""
    return not any(found is not module and _has_parameters(found) for found in called(sys._getframe(1)))


def _has_parameters(module: object) -> bool:
    return isinstance(module, nn.Module) and any(True for _ in module.parameters())


def _topmost(module: nn.Module) -> nn.Module:
    """The module that others hold this one through: an encoder may be called before the model that it is a part of."""
    holders = [found for found in gc.get_objects() if issubclass(type(found), nn.Module) and _holds(found, module)]
    return max(holders, key=lambda holder: sum(1 for _ in holder.modules()), default=module)


def _holds(holder: nn.Module, module: nn.Module) -> bool:
    return "_modules" in holder.__dict__ and any(part is module for part in holder.modules())


_finders: Final[list[Finder]] = []


def stop() -> None:
    """Look no further: something attaches that knows the models of this process."""
    for finder in _finders:
        finder.stop()


def rest() -> None:
    """What was asked of this process is done, and the step under way with it."""
    for finder in _finders:
        finder.rest()


def expect(model: nn.Module) -> session.Session | None:
    """The tap on a model that is about to be called, if it is the one that is tapped."""
    return next((found for finder in _finders if (found := finder.expect(model))), None)


def attach(torch_module: ModuleType) -> None:
    """Look for a model from now on."""
    if not _finders:
        _finders.append(Finder())
