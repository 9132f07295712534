"""What both ways of level aten share: a mode of the dispatcher that changes nothing for the model."""

from __future__ import annotations

import threading
from typing import Any

from tensortap._record.heard_calls import hear_mode, left
from tensortap._record.recorder import Recorder
from tensortap._torch_compat import TorchDispatchMode

class AtenMode(TorchDispatchMode):
    """Sees every op that reaches the dispatcher below autograd. Compiled code stays compiled, and hides what it runs."""

    supports_higher_order_operators = True  # else they raise under a mode

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder
        self._caught = recorder.guard.caught
        self.thread = 0
        hear_mode(self, "__torch_dispatch__")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let the op pass as it is; with the kernel, that does so."""
        kwargs = kwargs or {}
        entered = self._enter(func, types, args, kwargs)
        if entered is None:
            return func(*args, **kwargs)
        leaves, run = entered
        return left(leaves, run, args, kwargs)

    def _enter(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """An op is about to run: what leaves it and what is run; None if it is not recorded."""
        raise NotImplementedError

    def begin_step(self) -> None:
        """A step begins."""

    def end_step(self) -> None:
        """The step is over. To be called under the session's lock."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """What is compiled is not run eagerly for our sake."""
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch's own way to that end imports its compiler, for seconds, and costs each op a microsecond

    def on_this_thread(self) -> None:
        """The mode is put on the stack of the thread that calls."""
        self.thread = threading.get_ident()
