"""Within which module a thread computes, where modules themselves are not recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import FrameType
from typing import Any
from weakref import ref

from torch import nn

from tensortap._hooks.modules import Handle, hook_each
from tensortap._record import module_calls
from tensortap._record.calls_under_way import called
from tensortap._record.model_roots import Part
from tensortap._record.recorder import Recorder


class ModulePaths:
    """Finds the module by the frames of its call; where that is of interest for each op, hooks keep the path at hand."""

    def __init__(self, recorder: Recorder, hooked: bool) -> None:
        self._recorder, self._hooked = recorder, hooked
        self._paths: dict[int, tuple[ref[nn.Module], str]] = {}
        self._around: list[tuple[str, nn.Module]] = []
        self._thread = 0
        self._handles: list[Handle] = []
        self.current: str | None = "" if hooked else None  # None: to be found by frames

    def install(self, parts: Iterable[Part]) -> None:
        """Learn the paths, and hook the modules if that is wanted. To be called first by the thread that computes."""
        self._thread = self._thread or threading.get_ident()
        all_parts = list(parts)
        self._paths.update((id(part.module), (ref(part.module), part.path)) for part in all_parts)
        if self._hooked:
            hook_each(self._recorder, all_parts, lambda part: self._hook(part.path, part.module))

    def remove(self) -> None:
        """Leave the modules as they were."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._around.clear()
        self._paths.clear()
        self._thread = 0

    def of(self, frame: FrameType | None) -> str:
        """The path of the innermost module that a frame is within; empty outside of modules."""
        known = ((self._paths.get(id(module)), module) for module in called(frame))
        return next((entry[1] for entry, module in known if entry and entry[0]() is module), "")

    def _hook(self, path: str, module: nn.Module) -> None:
        hook = self._recorder.guard.hook
        self._handles.append(module_calls.before(module, hook("before a module", self._before, path)))
        self._handles.append(module_calls.after(module, hook("after a module", self._after), always=True))

    def _before(self, path: str, module: nn.Module, args: tuple[Any, ...]) -> None:
        if threading.get_ident() == self._thread:
            self._around.append((path, module))
            self.current = path

    def _after(self, module: nn.Module, args: tuple[Any, ...], result: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        around = self._around
        while around and around.pop()[1] is not module:  # left by an exception that no hook saw
            pass
        self.current = around[-1][0] if around else ""
