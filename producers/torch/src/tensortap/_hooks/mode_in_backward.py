"""Keeps a thread's mode active within the backward pass, where checkpointing runs forwards again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tensortap import _torch_compat
from tensortap._hooks.function_mode import ApiMode
from tensortap._hooks.function_watch import Around
from tensortap._hooks.mode_stacks import FUNCTIONS


class EngineWrap(Around):
    """Tensor.backward passes through a mode, which is off the stack meanwhile: the engine's start puts it on again."""

    def __init__(self, mode: ApiMode) -> None:
        super().__init__(*_torch_compat.ENGINE_START, self._around)
        self._mode = mode

    @contextmanager
    def _around(self, args: object, kwargs: object) -> Iterator[None]:
        mode = self._mode
        if mode.thread != threading.get_ident() or FUNCTIONS.has(mode):
            yield
            return
        FUNCTIONS.enter(mode)
        try:
            yield
        finally:
            FUNCTIONS.leave(mode)
