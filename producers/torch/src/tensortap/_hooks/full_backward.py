"""Gradients of modules' inputs and outputs as msProbe takes them: by nodes put around each call.

The nodes change in which order gradients are summed, and so their rounding; they are only there when asked for. A
module whose output is changed in place has no gradients then, as with msProbe: its node is gone from the graph.
Gradients are those of all tensors in the positional arguments, or in what is returned, that need one: a flat row,
however the tensors are nested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import torch
from torch import Tensor

from tensortap import _torch_compat
from tensortap._record import unseen
from tensortap._record.op_names import Op
from tensortap._record.recorder import Recorder
from tensortap._spool import layout
from tensortap._torch_compat import BackwardHookFunction

Values = tuple[Any, ...]
_autograd: Any = _torch_compat.autograd
_DEEPEST = 32
_NODE = "BackwardHookFunctionBackward"


class FullCall:
    """The backward of one call of a module, between the node on its outputs and the one on its inputs."""

    def __init__(self, recorder: Recorder, op: Op, path: str) -> None:
        self._recorder, self._op, self._path = recorder, op, path
        self._seq = self._parent_number = 0
        self._inputs: list[ref[Tensor]] = []  # behind the node on them
        self._ends_at_inputs = self._is_lost = self._is_under_way = False

    def around_inputs(self, args: Values) -> Values | None:
        """The arguments behind a node that hears of their gradients; None when none needs one."""
        hook = self._recorder.guard.hook("gradients of a module's inputs", self._made)
        changed: Values | None = _behind_node(args, lambda node: node.register_hook(hook))
        self._ends_at_inputs = changed is not None
        self._inputs = [ref(tensor) for tensor in _needing(changed, 0)]
        return changed

    def around_outputs(self, result: object) -> object:
        """The outputs behind a node that hears of their gradients; None when none needs one."""
        self._is_lost = bool(self._inputs) and all(_is_off_node(tensor()) for tensor in self._inputs)
        if self._is_lost:
            self._recorder.unseen.count(unseen.NO_BACKWARD_HOOK, self._path)
        hook = self._recorder.guard.hook("gradients of a module's outputs", self._given)
        return _behind_node(result, lambda node: node.register_prehook(hook))

    def _given(self, gradients: Values) -> None:
        recorder = self._recorder
        if not recorder.live:
            return
        with recorder.lock:
            op = recorder.names.backward(self._op)
            self._parent_number = recorder.backward_parent()
            if not self._is_lost:
                flags = layout.OP_OPENS if self._ends_at_inputs else 0
                self._seq = recorder.begin(op, self._parent_number, self._path, wanted=True, flags=flags)
                recorder.backward_values(op, self._seq, gradients, None)
            if self._ends_at_inputs:
                recorder.backwards.append(op)
                self._is_under_way = True

    def _made(self, gradients: Values, _: Values) -> None:
        recorder = self._recorder
        if not recorder.live or not self._is_under_way:
            return
        with recorder.lock:
            op = recorder.names.backward(self._op)
            self._is_under_way = False
            if recorder.backwards:
                recorder.backwards.pop()  # of whom ever: one that was lost is under way until then, with msProbe, too
            if self._seq:
                recorder.backward_values(op, self._seq, None, gradients)
                recorder.end(op, self._parent_number, self._seq)
                self._seq = 0


def _behind_node(value: Any, listen: Callable[[Any], object]) -> Any:
    """The value with the tensors that need a gradient behind one node, which listen gets; None when none does.

    Lists and dicts remain the objects that they are, as what holds them may depend on that.
    """
    tensors = list(_needing(value, 0)) if torch.is_grad_enabled() else []
    if not tensors:
        return None
    behind: Values = BackwardHookFunction.apply(*tensors)
    listen(behind[0].grad_fn)
    for tensor in behind:
        _autograd._set_creation_meta(tensor, _autograd.CreationMeta.DEFAULT)  # else what works in place raises
    return _replaced(value, iter(behind), 0)


def _is_off_node(tensor: Tensor | None) -> bool:
    """Whether a tensor behind a node was changed in place, so that its own node is another."""
    return tensor is not None and tensor.grad_fn is not None and tensor.grad_fn.name() != _NODE


def _needing(value: Any, depth: int) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        if value.requires_grad:
            yield value
    elif isinstance(value, (list, tuple, dict)) and depth < _DEEPEST:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _needing(part, depth + 1)


def _replaced(value: Any, behind: Iterator[Tensor], depth: int) -> Any:
    """The value with its tensors that need a gradient replaced in turn."""
    if isinstance(value, Tensor):
        return next(behind) if value.requires_grad else value
    if depth >= _DEEPEST:
        return value
    if isinstance(value, (list, dict)):
        for key, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
            if (changed := _replaced(part, behind, depth + 1)) is not part:
                value[key] = changed
    elif isinstance(value, tuple):
        parts = [_replaced(part, behind, depth + 1) for part in value]
        if any(new is not old for new, old in zip(parts, value, strict=True)):
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value
