"""Any PyTorch program: the first model that is called is tapped, in the very call."""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from tensortap import session, unseen
from tensortap.attach.wanted import wanted
from tensortap.config import SettingsError
from tensortap.notices import Notices
from tensortap.spool import SpoolError
from tensortap.under_way import called
from tensortap.wrappers import leave_out


class Finder:
    """Finds the model of a process: a module with parameters that no other module calls.

    One further model of its own is not recorded, and counted.
    """

    def __init__(self) -> None:
        self._met: dict[int, weakref.ref[nn.Module]] = {}
        self._session: session.Session | None = None
        self._root: nn.Module | None = None
        self._stopped = False
        self._handle = register_module_forward_pre_hook(self._before)

    def stop(self) -> None:
        """Look no further; what was found stays tapped."""
        self._stopped = True
        self._handle.remove()

    def expect(self, model: nn.Module) -> session.Session | None:
        """The tap on a model that is about to be called, by whoever knows that it is one; None if another one is tapped."""
        if not self._session and not self._stopped:
            self._guarded(self._tap, model)
        return self._session if self._root is model else None

    def _before(self, module: nn.Module, args: Any) -> None:
        if torch.compiler.is_compiling():
            return
        known = self._met.get(id(module))
        if known is None or known() is not module:
            self._guarded(self._meet, module)

    def _guarded(self, action: Callable[[nn.Module], object], module: nn.Module) -> None:
        try:
            action(module)
        except (SettingsError, SpoolError) as error:
            self._give_up(str(error))
        except Exception as error:  # as in Guard: a model that nobody asked us to tap is being called
            self._give_up(f"{type(error).__name__}: {error}")

    def _meet(self, module: nn.Module) -> None:
        self._remember(module)
        if not _is_outermost(module) or not any(True for _ in module.parameters()):
            return
        if self._session:
            self._session.count(unseen.ANOTHER_MODEL, type(module).__name__)
            self._remember_parts(module)
        else:
            model = _topmost(module)
            tapped = self._tap(model)
            tapped.forward_begins(model)
            if model is not module:  # the whole may never be called, as around what PEFT adapts
                module.register_forward_pre_hook(tapped.hook("before a part", functools.partial(_part_begins, tapped)), prepend=True)

    def _tap(self, model: nn.Module) -> session.Session:
        self._remember_parts(model)
        leave_out(model)
        self._root = model
        self._session = session.Session(wanted(), model)
        return self._session

    def _remember_parts(self, model: nn.Module) -> None:
        for part in model.modules():
            self._remember(part)

    def _remember(self, module: nn.Module) -> None:
        self._met[id(module)] = weakref.ref(module)

    def _give_up(self, reason: str) -> None:
        self.stop()
        Notices().say(f"nothing is recorded: {reason}")


def _part_begins(tapped: session.Session, part: nn.Module, args: object) -> None:
    if _is_outermost(part):
        tapped.forward_begins(part)


def _is_outermost(module: nn.Module) -> bool:
    """Whether no other module's call is under way in this thread."""
    return all(found is module for found in called(sys._getframe(1)))


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


def expect(model: nn.Module) -> session.Session | None:
    """The tap on a model that is about to be called, if it is the one that is tapped."""
    return next((found for finder in _finders if (found := finder.expect(model))), None)


def attach(torch_module: ModuleType) -> None:
    """Look for a model from now on."""
    if not _finders:
        _finders.append(Finder())
