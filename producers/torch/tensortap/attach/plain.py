"""Any PyTorch program: the first model that is called is tapped, in the very call."""

from __future__ import annotations

import gc
import sys
import weakref
from types import FrameType, ModuleType
from typing import Any, Final

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from tensortap import session, unseen
from tensortap.attach.wanted import wanted
from tensortap.config import SettingsError
from tensortap.notices import Notices
from tensortap.spool import SpoolError


class Finder:
    """Finds the model of a process: a module with parameters that no other module calls.

    One further model of its own is not recorded, and counted.
    """

    def __init__(self) -> None:
        self._met: dict[int, weakref.ref[nn.Module]] = {}
        self._session: session.Session | None = None
        self._handle = register_module_forward_pre_hook(self._before)

    def stop(self) -> None:
        """Look no further; what was found stays tapped."""
        self._handle.remove()

    def _before(self, module: nn.Module, args: Any) -> None:
        if torch.compiler.is_compiling():
            return
        known = self._met.get(id(module))
        if known is None or known() is not module:
            self._meet(module)

    def _meet(self, module: nn.Module) -> None:
        try:
            self._remember(module)
            if _is_outermost(module) and any(True for _ in module.parameters()):
                self._adopt(module)
        except (SettingsError, SpoolError) as error:
            self._give_up(str(error))
        except Exception as error:
            self._give_up(f"{type(error).__name__}: {error}")

    def _adopt(self, called: nn.Module) -> None:
        model = called if self._session else _topmost(called)
        for part in model.modules():
            self._remember(part)
        if self._session:
            self._session.count(unseen.ANOTHER_MODEL, type(model).__name__)
        else:
            self._session = session.Session(wanted(), model)
            self._session.forward_begins(model)

    def _remember(self, module: nn.Module) -> None:
        self._met[id(module)] = weakref.ref(module)

    def _give_up(self, reason: str) -> None:
        self.stop()
        Notices().say(f"nothing is recorded: {reason}")


def _is_outermost(module: nn.Module) -> bool:
    """Whether no other module's call is under way in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _CALL and frame.f_locals.get("self") is not module:
            return False
        frame = frame.f_back
    return True


def _topmost(module: nn.Module) -> nn.Module:
    """The module that others hold this one through: an encoder may be called before the model that it is a part of."""
    holders = [found for found in gc.get_objects() if issubclass(type(found), nn.Module) and _holds(found, module)]
    return max(holders, key=lambda holder: sum(1 for _ in holder.modules()), default=module)


def _holds(holder: nn.Module, module: nn.Module) -> bool:
    return "_modules" in holder.__dict__ and any(part is module for part in holder.modules())


_CALL: Final = nn.Module._call_impl.__code__
_finders: Final[list[Finder]] = []


def stop() -> None:
    """Look no further: something attaches that knows the models of this process."""
    for finder in _finders:
        finder.stop()


def attach(torch_module: ModuleType) -> None:
    """Look for a model from now on."""
    if not _finders:
        _finders.append(Finder())
