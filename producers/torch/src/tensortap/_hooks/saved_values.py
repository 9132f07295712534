"""Variables that the user names: each is an op of its own, with its value as output, and one more for its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torch import Tensor

from tensortap._record.argument_trees import OUTPUT, leaves
from tensortap._record.op_names import Op
from tensortap._record.recorder import Recorder, backward_run

_END: Final = ".debug"


class Saver:
    """Records named variables of one process. To be called where torch functions are not intercepted."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def save(self, value: object, name: str, gradient: bool, keep: bool = False) -> None:
        """Record a value under a name, and later the gradients of its tensors, if there will be any; with `keep` all as raw tensors, too."""
        recorder = self._recorder
        with recorder.lock:
            op = recorder.calls(name, _END).take()
            seq = recorder.begin_always(op)
            if keep:
                recorder.keep(op, seq)
            for path, leaf in _leaves(value):
                _write(recorder, op, seq, path, leaf)
            if gradient:
                self._listen(SavedGradient(recorder, recorder.calls(f"{name}_grad", _END).take(), keep), value)

    def _listen(self, saved: SavedGradient, value: object) -> None:
        for path, leaf in _leaves(value):
            if isinstance(leaf, Tensor) and leaf.requires_grad:
                hook = self._recorder.guard.hook("gradient of a saved variable", saved.given, path)
                leaf.register_hook(hook)


class SavedGradient:
    """The gradients of one saved variable: one op for each run of its graph, which begins with the first of them."""

    def __init__(self, recorder: Recorder, op: Op, keep: bool) -> None:
        self._recorder, self._op, self._keep = recorder, op, keep
        self._run, self._seq = -1, 0
        self._step = recorder.names.step

    def given(self, path: str, gradient: Tensor) -> None:
        """The gradient of the tensor at a path; one that comes in a later step is not the one that was asked for."""
        recorder = self._recorder
        if not recorder.live or recorder.names.step != self._step:
            return
        with recorder.lock:
            if self._run != (run := backward_run()):
                self._run, self._seq = run, recorder.begin_always(self._op)
                if self._keep:
                    recorder.keep(self._op, self._seq)
            _write(recorder, self._op, self._seq, path, gradient)


def _write(recorder: Recorder, op: Op, seq: int, path: str, leaf: object) -> None:
    if op.id and recorder.settings.task != "structure":
        recorder.walker.named(op, seq, OUTPUT, {path: leaf})


def _leaves(value: object) -> Iterator[tuple[str, object]]:
    """The values within, by paths as in debug.json: a variable that is no container has the empty one."""
    return ((path.removeprefix("."), leaf) for path, leaf in leaves("", value, 0))
