"""Level aten: every op that the thread runs, by what it is given and gives back. Equal calls of a step are counted.

The way of a call is kept short, since an op of a small model takes no longer than this: what is met for the first time is
defined, and what is met again costs a look into two tables. Autograd's threads of several devices may run at once, and
then a count may lack one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import Parameter

from tensortap._hooks.aten_facts import direct, given, input_lines, is_told_by_inputs, op_name, output_lines, tensors
from tensortap._hooks.aten_mode import AtenMode, dispatch_needs, run_of
from tensortap._hooks.module_paths import ModulePaths
from tensortap._record import unseen
from tensortap._record.guard import unintercepted
from tensortap._record.recorder import Recorder
from tensortap._record.shape_log import ShapeLog
from tensortap._spool import layout
from tensortap._torch_compat import left_to_python

_NOTHING: Final[dict[str, Any]] = {}
_TELLING: Final = frozenset((Tensor, Parameter, float, type(None)))  # of arguments: no number among them is a size or dimension
_SIMPLE: Final = frozenset((type(None), int, float, bool, str, torch.dtype, torch.device, torch.layout, torch.memory_format))
_UNREAL: Final = frozenset(("FakeTensor", "FunctionalTensor"))  # stand for tensors while a compiler looks at code
_MOST_CALLS: Final = 1 << 16

Key = tuple[object, ...]


class Count:
    """How often calls had one signature in the step under way. Ids are those of the spool."""

    __slots__ = ("line", "module", "op", "signature", "times")

    def __init__(self, op: str, signature: int, module: int) -> None:
        self.op, self.signature, self.module = op, signature, module
        self.times = 0
        self.line = ""  # of the shape log


class Call:
    """Calls of one op with inputs alike, first met within the module of that path: what they gave back. Without id it is not recorded."""

    __slots__ = ("facts", "func", "id", "inputs", "is_filtered", "is_told_by_inputs", "name", "needs", "only", "op", "op_id", "path", "results", "run")

    def __init__(self, func: Any, path: str, args: tuple[Any, ...]) -> None:
        self.func = func  # kept, so that no other gets its id
        self.run = direct(run_of(func, args))
        self.path, self.name, self.op = path, str(func), op_name(func)
        self.id = self.op_id = 0
        self.needs = dispatch_needs(func, args)
        self.is_filtered = self.is_told_by_inputs = False
        self.only: Count | None = None  # the one that there can be
        self.inputs: list[str] = []
        self.facts = ""  # of the shape log
        self.results: dict[object, Count] = {}


class AtenCounts(AtenMode):
    """Counts calls by signature while it is on the thread's stack of modes."""

    def __init__(self, recorder: Recorder, modules: ModulePaths, log: ShapeLog | None) -> None:
        super().__init__(recorder)
        self._modules, self._log = modules, log
        self._begins = recorder.spool.header.beginner()
        self._calls: dict[Key, Call] = {}
        self._counted: list[Count] = []  # in this step, by their first call

    @left_to_python
    def _enter(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """On file before an op runs is what it is given."""
        if not self._recorder.live:
            return self._unrecorded(func, types, args)
        if kwargs is None:
            kwargs = _NOTHING
        try:
            key = key_of(func, self._modules.current, args, kwargs)
            call = self._calls.get(key) or self._meet(key, func, args, kwargs)
            if not call.id:
                self._pass_over(call)
                return self._unrecorded(func, types, args)
            self._begins(call.op_id, call.id)
        except Exception as error:  # as in Guard, which costs a call more
            self._caught("aten", error)
            return self._unrecorded(func, types, args)
        leaves = partial(self._leave, call, args, kwargs)
        return self._entered(leaves, call.run, types, call.needs) if call.needs else (leaves, call.run)

    @left_to_python
    def _leave(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], *returned: Any) -> None:
        if not returned:
            self._raised(call, sys.exc_info()[1], args, kwargs)
            return
        result = returned[0]
        try:
            count = call.only or self._count_of(call, result)
            if not count.times:
                self._counted.append(count)
            count.times += 1
            if self._log:
                self._tell(self._log, call, count, result)
        except Exception as error:  # likewise
            self._caught("aten", error)

    def begin_step(self) -> None:
        """The shape log counts passes."""
        if self._log:
            self._log.begin_pass()

    def end_step(self) -> None:
        """Write what was counted since the last step. To be called under the session's lock."""
        spool = self._recorder.spool
        for count in self._counted:
            spool.write(layout.TALLY_KIND, layout.TALLY, count.signature, count.module, count.times)
            count.times = 0
        self._counted.clear()

    def _meet(self, key: Key, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Calls that were not met before: define them, unless they are not wanted."""
        recorder, call = self._recorder, Call(func, self._path(), args)
        with recorder.lock, unintercepted():
            if any(type(tensor).__name__ in _UNREAL for _, tensor in tensors(given(func, args, kwargs))):
                return call
            call.is_filtered = not recorder.filter.wants_op(f"{call.op}.0.forward", call.path)
            if not call.is_filtered:
                self._define(call, args, kwargs)
        if call.id or call.is_filtered:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            self._calls[key] = call
        return call

    def _define(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recorder = self._recorder
        call.inputs = input_lines(given(call.func, args, kwargs))
        call.is_told_by_inputs = not kwargs and {*map(type, args)} <= _TELLING and bool(call.inputs) and is_told_by_inputs(call.func)
        call.facts = self._log.inputs(given(call.func, args, kwargs)) if self._log else ""
        call.op_id = recorder.names.named(call.op).id
        fields = {"op": call.op_id, "path": self._modules.current or "", "inputs": call.inputs}
        call.id = recorder.spool.define("call", fields) if call.op_id else 0
        recorder.spool.dropped += not call.id

    def _path(self) -> str:
        """Within which module the thread is."""
        current = self._modules.current
        return self._modules.of(sys._getframe(1)) if current is None else current

    def _pass_over(self, call: Call) -> None:
        if call.is_filtered:
            self._recorder.unseen.count(unseen.FILTERED, call.op)

    def _count_of(self, call: Call, result: object) -> Count:
        made = key_of_result(result)
        count = call.results.get(made)
        if count is None:
            with self._recorder.lock, unintercepted():
                count = self._define_result(call, made, output_lines(result))
            if call.is_told_by_inputs and count.signature:
                call.only = count
        return count

    def _define_result(self, call: Call, made: object, outputs: list[str]) -> Count:
        spool = self._recorder.spool
        number = spool.define("signature", {"name": call.name, "inputs": call.inputs, "outputs": outputs})
        count = Count(call.op, number, spool.text(call.path))
        if number:
            call.results[made] = count
        else:
            spool.dropped += 1
            count.times = 1  # and so it is not put among those that were counted
        return count

    def _raised(self, call: Call, error: BaseException | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Tell of an op that raised, and count it as a call that gave back its exception."""
        if not isinstance(error, Exception):
            return
        recorder, kind = self._recorder, type(error).__name__
        try:
            with recorder.lock, unintercepted():
                index = sum(count.times for count in self._counted if count.op == call.op)
                recorder.seq += 1
                op = recorder.names.make(f"{call.op}.{index}.forward", None)
                recorder.failed(op, recorder.seq, self._path(), error, args, kwargs)
                count = call.results.get(kind) or self._define_result(call, kind, [f"raised {kind}"])
            if not count.times:
                self._counted.append(count)
            count.times += 1
            if self._log:
                self._log.raised(call.name, call.facts, error)
        except Exception as ours:  # likewise
            self._caught("aten", ours)

    def _tell(self, log: ShapeLog, call: Call, count: Count, result: object) -> None:
        if not count.line:
            with unintercepted():
                count.line = log.line(call.name, call.facts, result)
        log.write(call.name, count.line)


def key_of(func: Any, path: str | None, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Key:
    """The same for calls that are given tensors alike, whatever numbers they are given."""
    key: list[object] = [id(func), path]
    if kwargs:
        key.extend(kwargs)
        args = (*args, *kwargs.values())
    try:
        for value in args:
            kind = type(value)
            if kind is Tensor or kind is Parameter:
                key += value.dtype, value.shape, value.stride(), value.device
            elif kind in _SIMPLE:
                key.append(kind)
            else:
                _extend(key, kind, value)
    except (RuntimeError, TypeError):  # tensors that have no strides, or are of a class of their own
        with unintercepted():
            return id(func), path, *kwargs, *input_lines(given(func, args, {}))
    return tuple(key)


def _extend(key: list[object], kind: type, value: Any) -> None:
    """Add what is rarer than tensors and numbers, or within lists."""
    if kind is Tensor or kind is Parameter:
        key += value.dtype, value.shape, value.stride(), value.device
    elif kind is list or kind is tuple:
        key.append(len(value))
        if not value or type(value[0]) is not int:  # sizes and dimensions tell no more than the result does
            for item in value:
                _extend(key, type(item), item)
    elif isinstance(value, Tensor):
        raise TypeError
    else:
        key.append(kind)


def key_of_result(result: Any) -> object:
    """The same for results that are alike."""
    try:
        if type(result) is Tensor:
            return result.dtype, result.shape, result.stride(), result.device  # as _extend has it, and most often
        key: list[object] = []
        _extend(key, type(result), result)
        return tuple(key)
    except (RuntimeError, TypeError):
        with unintercepted():
            return tuple(output_lines(result))
