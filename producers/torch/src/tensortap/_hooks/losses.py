"""The tensors that a backward pass begins from, at every level: functions that no module calls may have made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from torch import Tensor

from tensortap import _torch_compat
from tensortap._hooks.function_watch import Around
from tensortap._record.argument_trees import INPUT
from tensortap._record.guard import Guard
from tensortap._record.op_names import LOSS, LOSS_END
from tensortap._record.recorder import Recorder, backward_run

_OUTSIDE: Final = -1  # of any run of autograd's engine


class LossWatch(Around):
    """Hears what Tensor.backward and torch.autograd.backward are given, scaled or not, before they run.

    torch.autograd.grad is passed over: it returns gradients to the program, as for a penalty, and accumulates none. So
    are backwards within a backward, by which checkpointing goes on with gradients that were computed before.
    """

    def __init__(self, guard: Guard, heard: Callable[[Sequence[Tensor]], None]) -> None:
        super().__init__(*_torch_compat.ENGINE_START, self._around)
        self._losses = heard
        self._hears = guard.hook("a loss", self._begins)

    def _around(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AbstractContextManager[None]:
        self._hears(args, kwargs)
        return nullcontext()

    def _begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not kwargs.get("accumulate_grad") or backward_run() != _OUTSIDE:
            return
        losses = [root for root in args[0] if isinstance(root, Tensor)]  # others are edges of a graph
        if losses:
            self._losses(losses)


class LossHooks(LossWatch):
    """Records the losses of a step."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder.guard, self._record)
        self._recorder = recorder

    def install(self) -> None:
        """Hear of backwards."""
        if self._recorder.settings.task != "structure":
            super().install()

    def _record(self, losses: Sequence[Tensor]) -> None:
        recorder = self._recorder
        if not recorder.live:
            return
        with recorder.lock:
            op = recorder.calls(LOSS, LOSS_END).take()
            seq = recorder.begin_always(op)
            if op.id:
                recorder.walker.positional(op, seq, INPUT, losses)
                if recorder.on_nan is not None:
                    recorder.on_nan.loss(op, seq, losses)
