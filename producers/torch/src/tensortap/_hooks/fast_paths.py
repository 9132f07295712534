"""PyTorch's own fast paths, which it leaves where a mode or a hook would see less: as it is a guest, the collector sees less."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from tensortap import _torch_compat
from tensortap._hooks.function_mode import ApiMode
from tensortap._hooks.mode_stacks import FUNCTIONS
from tensortap._record import module_calls, unseen
from tensortap._record.heard_calls import around
from tensortap._record.model_roots import Part
from tensortap._record.recorder import Recorder

_NAME = "has_torch_function"


class Unasked:
    """Lets torch.overrides.has_torch_function answer as without our mode, between install and remove: nn.MultiheadAttention asks, and layers of it."""

    def __init__(self, mode: ApiMode) -> None:
        self._mode = mode
        self._original: Any = None
        self._answer: Any = None

    def install(self) -> None:
        """Answer."""
        original, mode = getattr(torch.overrides, _NAME), self._mode

        def answer(relevant_args: Iterable[Any]) -> bool:
            if torch.compiler.is_compiling() or not FUNCTIONS.leave(mode):
                return bool(original(relevant_args))
            try:
                return bool(original(relevant_args))
            finally:
                FUNCTIONS.enter(mode)

        self._original, self._answer = original, answer
        builtins = _torch_compat.script_builtins()
        if id(original) in builtins:  # a scripted layer asks, too
            builtins[id(answer)] = builtins[id(original)]
        setattr(torch.overrides, _NAME, answer)

    def remove(self) -> None:
        """Put the original back, unless somebody else has put something there."""
        if self._answer is not None and getattr(torch.overrides, _NAME) is self._answer:
            setattr(torch.overrides, _NAME, self._original)
        _torch_compat.script_builtins().pop(id(self._answer), None)
        self._answer = None


class Uncompiled:
    """Takes our mode off the stack where torch.compile sees functions, between install and remove: it would compile for a program with a mode."""

    def __init__(self, mode: ApiMode) -> None:
        self._mode = mode
        self._is_off = False
        self._original = _torch_compat.set_eval_frame
        self._looks = around(self._original, self._before, is_method=False)

    def install(self) -> None:
        """Hear of where it begins and ends to see; what does so may be imported later. A function in Python would be seen itself."""
        if type(self._looks) is type(self._original):
            self._replace(self._original, self._looks)

    def remove(self) -> None:
        """Put the original back, wherever it was imported to."""
        self._replace(self._looks, self._original)

    @_torch_compat.left_to_python
    def _before(self, callback: Any) -> Any:
        """It is about to see what this thread calls or, with None, to see no more."""
        if callback is None:
            return self._after if self._is_off else None
        self._is_off = FUNCTIONS.leave(self._mode) or self._is_off
        return None

    def _after(self, was: Any) -> None:
        """Where it saw nothing before either, it compiles."""
        if was is not None and self._mode.thread == threading.get_ident():
            self._is_off = False
            FUNCTIONS.enter(self._mode)

    @staticmethod
    def _replace(one: Any, other: Any) -> None:
        for place in filter(None, map(sys.modules.get, _torch_compat.SET_EVAL_FRAME_PLACES)):
            for name in ("set_eval_frame", "_maybe_set_eval_frame"):
                if getattr(place, name, None) == one:
                    setattr(place, name, other)


class FusedLayer:
    """One nn.TransformerEncoderLayer: where its call does not call its parts, they are counted."""

    def __init__(self, recorder: Recorder, part: Part) -> None:
        self._recorder = recorder
        self._parts = [f"{part.path}.{name}" for name, _ in part.module.named_modules() if name]
        self._called = False

    def hook(self, layer: nn.TransformerEncoderLayer) -> list[module_calls.Handle]:
        """Hear of calls of it, and of the first part that it calls otherwise."""
        hook = self._recorder.guard.hook
        parts = [layer.norm1, layer.self_attn]
        return [
            module_calls.before(layer, hook("before a layer", self._begins)),
            *(module_calls.before(part, hook("before a layer's part", self._calls)) for part in parts),
            module_calls.after(layer, hook("after a layer", self._ends)),
        ]

    def _begins(self, layer: nn.Module, args: object) -> None:
        self._called = False

    def _calls(self, part: nn.Module, args: object) -> None:
        self._called = True

    def _ends(self, layer: nn.Module, args: object, result: object) -> None:
        if self._recorder.live and not self._called:
            for path in self._parts:
                self._recorder.unseen.count(unseen.FUSED, path)
