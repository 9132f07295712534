"""The calls of modules that each thread has under way."""

from __future__ import annotations

import threading
from typing import Any

from tensortap._record.op_names import Op


class Frame:
    """A module's call under way."""

    __slots__ = ("exception", "full", "module", "op", "parent", "path", "seq")

    def __init__(self, op: Op, parent: int, path: str, module: object, exception: BaseException | None) -> None:
        self.op, self.parent, self.path, self.module, self.exception = op, parent, path, module, exception
        self.seq = 0
        self.full: Any = None  # what takes the gradients around the call, where msProbe's way is asked for


class Thread(threading.local):
    """What each thread has under way."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
