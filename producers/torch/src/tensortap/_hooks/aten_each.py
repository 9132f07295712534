"""Level aten with calls=each: every op by itself, with the statistics of what it is given and gives back."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from tensortap._hooks.aten_facts import op_name
from tensortap._hooks.aten_mode import AtenMode, dispatch_needs, run_of
from tensortap._record.guard import unintercepted
from tensortap._record.op_names import Calls, Op
from tensortap._record.recorder import Recorder
from tensortap._torch_compat import left_to_python


class AtenEach(AtenMode):
    """Writes the rows of each call while it is on the thread's stack of modes."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._of: dict[int, tuple[Any, Calls]] = {}  # by the id of the function, which is kept

    @left_to_python
    def _enter(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Write down what goes in. What runs while we measure is ours."""
        recorder = self._recorder
        lock: Any = recorder.lock
        if not recorder.live or lock._is_owned():
            return self._unrecorded(func, types, args)
        kwargs = kwargs or {}
        try:
            needs, run = dispatch_needs(func, args), run_of(func, args)
            call = self._before(func, args, kwargs)
        except Exception as error:  # as in Guard, which costs a call more
            self._caught("aten", error)
            return self._unrecorded(func, types, args)
        leaves = partial(self._leave, func, call, args, kwargs)
        return self._entered(leaves, run, types, needs) if needs else (leaves, run)

    @left_to_python
    def _leave(self, func: Any, call: tuple[Op, int, str], args: tuple[Any, ...], kwargs: dict[str, Any], *returned: Any) -> None:
        """Write down what came out."""
        if not returned:
            self._raised(*call, sys.exc_info()[1], args, kwargs)
            return
        try:
            self._after(func, *call, returned[0])
        except Exception as error:  # likewise
            self._caught("aten", error)

    def _before(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Op, int, str]:
        recorder = self._recorder
        frames = recorder.thread.frames
        parent, path = (frames[-1].op.id, frames[-1].path) if frames else (0, "")
        with recorder.lock, unintercepted():
            op = self._calls(func).take()
            seq = recorder.begin(op, parent, path, wanted=True)
            if seq:
                recorder.inputs(op, seq, args, kwargs)
        return op, seq, path

    def _after(self, func: Any, op: Op, seq: int, path: str, result: object) -> None:
        recorder = self._recorder
        with recorder.lock, unintercepted():
            if _writes(func):
                recorder.observer.forget()  # autograd raises the versions of what it wrote into after us
            if seq:
                recorder.outputs(op, seq, result)
            recorder.filter.ends_op(op.name)

    def _raised(self, op: Op, seq: int, path: str, error: BaseException | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            if seq and isinstance(error, Exception):
                with self._recorder.lock, unintercepted():
                    self._recorder.failed(op, seq, path, error, args, kwargs)
        except Exception as ours:  # likewise
            self._caught("aten", ours)

    def _calls(self, func: Any) -> Calls:
        known = self._of.get(id(func))
        if known is None:
            known = self._of[id(func)] = func, self._recorder.calls(op_name(func), ".forward")
        return known[1]


def _writes(func: Any) -> bool:
    """Whether the op writes into what it is given, as far as it says so."""
    schema = getattr(func, "_schema", None)
    return schema is None or bool(schema.is_mutable)
