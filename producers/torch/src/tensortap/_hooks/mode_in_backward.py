"""Keeps a thread's mode active within the backward pass, where checkpointing runs forwards again."""

from __future__ import annotations

import threading
from typing import Any, Final

import torch

from tensortap._hooks.function_mode import ApiMode
from tensortap._hooks.mode_stacks import FUNCTIONS

_NAME: Final = "_engine_run_backward"


class EngineWrap:
    """Tensor.backward passes through a mode, which is off the stack meanwhile: the engine's start puts it on again."""

    def __init__(self, mode: ApiMode) -> None:
        self._mode = mode
        self._original: Any = None
        self._wrapped: Any = None
        self._active = False

    def install(self) -> None:
        """Wrap the function in both of the places that call it, if this torch has it there."""
        original: Any = getattr(torch.autograd.graph, _NAME, None)
        if original is None or getattr(torch.autograd, _NAME, None) is not original:
            return

        engine: Any = original

        def run(*args: Any, **kwargs: Any) -> Any:
            mode = self._mode
            if not self._active or mode.thread != threading.get_ident() or FUNCTIONS.has(mode):
                return engine(*args, **kwargs)
            FUNCTIONS.enter(mode)
            try:
                return engine(*args, **kwargs)
            finally:
                FUNCTIONS.leave(mode)

        self._original, self._wrapped, self._active = original, run, True
        self._set(run)

    def remove(self) -> None:
        """Put the original back. What was wrapped since keeps a wrap of ours that does nothing."""
        self._active = False
        if self._wrapped is not None and getattr(torch.autograd.graph, _NAME, None) is self._wrapped:
            self._set(self._original)
        self._wrapped = None

    def _set(self, function: Any) -> None:
        setattr(torch.autograd.graph, _NAME, function)
        setattr(torch.autograd, _NAME, function)
