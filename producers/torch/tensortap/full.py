"""Gradients of modules' inputs and outputs as msProbe takes them: by nodes put around each call.

The nodes change in which order gradients are summed, and so their rounding; they are only there when asked for. A
module whose output is changed in place has no gradients then, as with msProbe: its node is gone from the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules._functions import BackwardHookFunction

from tensortap import layout
from tensortap.names import Op
from tensortap.recorder import Recorder

Values = tuple[Any, ...]
_autograd: Any = torch._C._autograd  # pyright: ignore[reportAttributeAccessIssue]


class FullCall:
    """The backward of one call of a module, between the node on its outputs and the one on its inputs."""

    def __init__(self, recorder: Recorder, op: Op, parent: Op | None, path: str) -> None:
        self._recorder, self._op, self._parent, self._path = recorder, op, parent, path
        self._seq = self._parent_number = 0
        self._ends_at_inputs = False

    def around_inputs(self, args: Values) -> Values | None:
        """The arguments behind a node that hears of their gradients; None when none needs one."""
        hook = self._recorder.guard.hook("gradients of a module's inputs", self._made, _places(args), len(args))
        changed = _behind_node(args, lambda node: node.register_hook(hook))
        self._ends_at_inputs = changed is not None
        return changed

    def around_outputs(self, result: object) -> object:
        """The outputs behind a node that hears of their gradients; None when none needs one."""
        values = result if type(result) is tuple else (result,)
        hook = self._recorder.guard.hook("gradients of a module's outputs", self._given, _places(values), len(values))
        changed = _behind_node(values, lambda node: node.register_prehook(hook))
        if changed is None:
            return None
        return changed if type(result) is tuple else changed[0]

    def _given(self, places: list[int], count: int, gradients: Values) -> None:
        recorder = self._recorder
        if not recorder.live:
            return
        with recorder.lock:
            op = recorder.names.backward(self._op)
            self._parent_number = recorder.names.backward(self._parent).id if self._parent else 0
            flags = layout.OP_OPENS if self._ends_at_inputs else 0
            self._seq = recorder.begin(op, self._parent_number, self._path, wanted=True, flags=flags)
            recorder.backward_values(op, self._seq, _spread(places, count, gradients), None)

    def _made(self, places: list[int], count: int, gradients: Values, _: Values) -> None:
        recorder = self._recorder
        if not recorder.live or not self._seq:
            return
        with recorder.lock:
            op = recorder.names.backward(self._op)
            recorder.backward_values(op, self._seq, None, _spread(places, count, gradients))
            recorder.end(op, self._parent_number, self._seq)
            self._seq = 0


def _places(values: Values) -> list[int]:
    return [at for at, value in enumerate(values) if isinstance(value, Tensor)]


def _spread(places: list[int], count: int, gradients: Values) -> list[Any]:
    """A gradient for each value, None for one that is no tensor."""
    spread: list[Any] = [None] * count
    for at, gradient in zip(places, gradients, strict=False):
        spread[at] = gradient
    return spread


def _behind_node(values: Values, listen: Callable[[Any], object]) -> Values | None:
    """The values with their tensors behind one node of the graph, which listen gets; None when none needs a gradient."""
    places = _places(values)
    tensors = [values[at] for at in places]
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
        return None
    behind: Values = BackwardHookFunction.apply(*tensors)
    nodes = [tensor.grad_fn for tensor in behind if tensor.grad_fn is not None]
    if not nodes:
        return None
    listen(nodes[0])
    changed = list(values)
    for at, tensor in zip(places, behind, strict=True):
        _autograd._set_creation_meta(tensor, _autograd.CreationMeta.DEFAULT)  # else what works in place raises
        changed[at] = tensor
    return tuple(changed)
