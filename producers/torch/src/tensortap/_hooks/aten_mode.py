"""What both ways of level aten share: a mode of the dispatcher that changes nothing for the model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from tensortap import _torch_compat
from tensortap._record.recorder import Recorder
from tensortap._torch_compat import TorchDispatchMode

_compiler: Final[Any] = _torch_compat.eval_frame
_METHOD: Final = "__torch_dispatch__"


class AtenMode(TorchDispatchMode):
    """Sees every op that reaches the dispatcher below autograd. Compiled code stays compiled, and hides what it runs."""

    supports_higher_order_operators = True  # else they raise under a mode

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder
        self._caught = recorder.guard.caught
        self.thread = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Have no compiler look at what we do within an op."""
        super().__init_subclass__(**kwargs)  # type: ignore[no-untyped-call]
        setattr(cls, _METHOD, _passed_over(vars(cls)[_METHOD]))

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


def _passed_over(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, left to Python by torch.compile, with all that it calls."""
    if not hasattr(_compiler, "skip_code"):
        skip = _compiler._FrameAction.SKIP
        _compiler.set_code_exec_strategy(function.__code__, _compiler._FrameExecStrategy(skip, skip))
        return function

    def alone(*args: Any, **kwargs: Any) -> Any:
        looking = _compiler.set_eval_frame(None)
        try:
            return function(*args, **kwargs)
        finally:
            _compiler.set_eval_frame(looking)

    _compiler.skip_code(alone.__code__)
    return alone
