"""Level L1: every listed API call of the thread, outermost only, by a TorchFunctionMode."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import FunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tensortap import _torch_compat
from tensortap._record import unseen
from tensortap._record.call_sites import CallSites
from tensortap._record.custom_ops import TRUSTED
from tensortap._record.guard import unintercepted
from tensortap._record.heard_calls import hear_mode, left
from tensortap._record.op_names import Op, apis
from tensortap._record.recorder import Recorder

_NOTHING: Final[dict[str, Any]] = {}
_is_tracing: Final[Callable[[], object]] = _torch_compat.get_tracing_state
_BUILT_IN: Final = ("aten", "prims", "prim")
_OF_CLASSES: Final = frozenset((MethodDescriptorType, MethodWrapperType, WrapperDescriptorType))  # what tensors' methods and attributes are
_MOST_PASSED_OVER: Final = 1 << 10
_DROPOUTS: Final = ("Functional.dropout", "Functional.alpha_dropout", "Functional.feature_alpha_dropout")

Call = tuple[Op, int, int, str]  # op, seq, parent's id, path of the module


class ApiMode(TorchFunctionMode):
    """Sees what the thread calls while it is on the thread's stack of modes."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._apis = apis(recorder.names, recorder.settings.apis)
        self._caught = recorder.guard.caught
        for name in ("_before", "_after", "_backward"):
            setattr(self, name, recorder.guard.timed(getattr(self, name)))
        self._call_sites = CallSites()
        self._passed_over: set[Any] = set()  # of torch's own, which are not listed
        self.thread = 0
        hear_mode(self, "__torch_function__")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let the call pass as it is, and write down what went in and came out; with the kernel, that does so."""
        kwargs = kwargs or {}
        if torch.compiler.is_compiling():
            return func(*args, **kwargs)
        leaves = self._enter(func, types, args, kwargs)
        return func(*args, **kwargs) if leaves is None else left(leaves, func, args, kwargs)

    @_torch_compat.left_to_python
    def _enter(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """A call begins: what leaves it, if it is recorded."""
        if kwargs is None:
            kwargs = _NOTHING
        recorder = self._recorder
        if not recorder.live or torch.compiler.is_compiling() or _is_tracing() is not None:
            return None
        api = self._apis.get(func)
        if api is None:
            if func not in self._passed_over:
                self._not_listed(func)
            return None
        try:
            caller = sys._getframe(1)
            calls = api.calls(caller, args)
            if calls is None:
                return None
            passed = args, kwargs
            if type(func) is FunctionType:
                passed = self._call_sites.as_passed(caller, args, kwargs)
            call = self._before(calls.take(), func, *passed)
        except Exception as error:  # as in Guard, which costs a call more
            self._caught("api", error)
            return None
        return None if call is None else functools.partial(self._leave, call, args, kwargs)

    @_torch_compat.left_to_python
    def _leave(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], *returned: Any) -> None:
        """The call has returned, or raised what is being handled."""
        if not returned:
            self._raised(call, sys.exc_info()[1], args, kwargs)
            return
        try:
            self._after(call, returned[0], args, kwargs)
        except Exception as error:  # likewise
            self._caught("api", error)

    def _before(self, op: Op, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        recorder = self._recorder
        frames = recorder.thread.frames
        parent, path = (frames[-1].op.id, frames[-1].path) if frames else (0, "")
        with recorder.lock, unintercepted():
            seq = recorder.opens(op, parent, path, args, kwargs, function=func)
        return op, seq, parent, path

    def _after(self, call: Call, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        op, seq, _, path = call
        recorder = self._recorder
        with recorder.lock, unintercepted():
            if seq:
                recorder.outputs(op, seq, result)
            if recorder.backward and torch.is_grad_enabled():
                self._follow(op, path, result, args, kwargs)
            recorder.filter.ends_op(op.name)

    def _raised(self, call: Call, error: BaseException | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        op, seq, _, path = call
        try:
            if seq and isinstance(error, Exception):
                with self._recorder.lock, unintercepted():
                    self._recorder.failed(op, seq, path, error, args, kwargs)
            if error is not None:
                self._recorder.examine(error)
        except Exception as ours:  # likewise
            self._caught("api", ours)

    def _follow(self, op: Op, path: str, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Hear of the gradients of the API's first result, where its node in the graph computes them."""
        first = _first_tensor(result)
        if first is None or not first.requires_grad or (op.name.startswith(_DROPOUTS) and _rate(args, kwargs) == 0):
            return
        node = first.grad_fn
        if node is not None:
            frames = self._recorder.thread.frames
            parent = frames[-1].op if frames else None
            node.register_hook(functools.partial(self._backward, op, parent, path))

    def _backward(self, op: Op, parent: Op | None, path: str, made: Any, given: Any) -> None:
        recorder = self._recorder
        if not recorder.live or torch.compiler.is_compiling():
            return
        try:
            with recorder.lock, unintercepted():
                names = recorder.names
                if recorder.settings.backward == "full":
                    number = recorder.backward_parent()
                else:
                    number = names.backward(parent).id if parent else 0
                recorder.gradients(names.backward(op), number, path, given, made)
        except Exception as error:  # likewise
            self._caught("api backward", error)

    def _not_listed(self, func: Any) -> None:
        """An op that is not torch's own is counted, and may write into tensors without a trace."""
        namespace = getattr(func, "namespace", None) or getattr(func, "_qualified_op_name", "aten::").partition("::")[0]
        if namespace not in _BUILT_IN:
            if namespace not in TRUSTED:
                self._recorder.unseen.count(unseen.CUSTOM_OP, ".".join(str(func).split(".")[:2]))
            with self._recorder.lock:
                self._recorder.observer.forget()
        elif type(func) in _OF_CLASSES and len(self._passed_over) < _MOST_PASSED_OVER:
            self._passed_over.add(func)

    def on_this_thread(self) -> None:
        """The mode is put on the stack of the thread that calls."""
        self.thread = threading.get_ident()


def _first_tensor(result: Any) -> Tensor | None:
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next((value for value in result.values() if isinstance(value, Tensor)), None)
        elif isinstance(result, (list, tuple)) and result:
            result = result[0]
        else:
            return None
    return result


def _rate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    return args[1] if len(args) > 1 else kwargs.get("p", 0.5)
