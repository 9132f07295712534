"""Names of ops in msProbe's form: prefix, API or module, and which call of it in the step."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from types import CodeType, FrameType
from typing import Any, Final

import torch

from tensortap import _torch_compat
from tensortap._config.api_list import ApiList
from tensortap._record import operators
from tensortap._record.call_stacks import Stacks
from tensortap._spool.spool import Spool

SiteKey = tuple[str, str]  # role and path
LOSS: Final = "Loss"  # an op of this name has the tensors that backward begins from
LOSS_END: Final = ".debug"  # as of a saved variable
_OUTSIDE: Final = ("Module.", f"{LOSS}.")  # a value of these ops that is not finite is a fault
_MOST_CALLS: Final = 1 << 16  # of one API in a step, whose ops are kept
_MOST_PLACES: Final = 1 << 16  # in code, whose operators are kept
_MOST_CALLERS: Final = 16  # of models, whose ops have stacks of their own

# In this order: where one function has two names, the later is the one that modules call it by.
_PLACES: Final[tuple[tuple[str, Any], ...]] = (
    ("Torch", torch),
    ("VF", _torch_compat.variable_functions),
    ("Tensor", torch.Tensor),
    ("Functional", torch.nn.functional),
)


class Op:
    """One op of the program: the n-th call of a module or API in a step. Ids are those of the spool, 0 when it lost them.

    Its stack is the one that it was first called from since the model was called from there.
    """

    __slots__ = ("backward", "caller", "id", "name", "named", "places", "sites", "stack", "stacks")

    def __init__(self, name: str, number: int, stack: int, caller: int) -> None:
        self.name, self.id, self.stack, self.caller = name, number, stack, caller
        self.stacks: dict[int, int] | None = None  # by caller, once there were several
        self.sites: dict[SiteKey, int] = {}
        # Of each role: sites at their places, and at those of names; 0 where a value may have several.
        self.places: defaultdict[str, list[int]] = defaultdict(list)
        self.named: dict[str, tuple[tuple[str, ...], list[int]]] = {}
        self.backward: Op | None = None


class Calls:
    """The calls of one module or API: ops by their index, taken in order within a step."""

    __slots__ = ("_begin", "_end", "_next", "_ops", "_step", "names")

    def __init__(self, names: Names, begin: str, end: str) -> None:
        self.names, self._begin, self._end = names, begin, end
        self._ops: list[Op] = []
        self._next = 0
        self._step = -1

    def take(self) -> Op:
        """The op of the next call in the step under way; its stack is the caller's when it is met first from where the model is called."""
        step = self.names.step
        if self._step != step:
            self._step, self._next = step, 0
        at = self._next
        self._next = at + 1
        ops = self._ops
        if at < len(ops):
            op = ops[at]
            if op.caller != self.names.caller:
                self.names.call_again(op, sys._getframe(1))
            return op
        op = self.names.make(f"{self._begin}.{at}{self._end}", sys._getframe(1))
        if op.id and at == len(ops) and at < _MOST_CALLS:
            ops.append(op)
        return op


class Names:
    """The ops of a tap. Call indices begin anew with each step."""

    def __init__(self, spool: Spool, stacks: Stacks) -> None:
        self._spool, self.stacks = spool, stacks
        self._named: dict[str, Op] = {}
        self.inside: set[int] = set()  # sites of what is called inside of modules
        self.step = 0
        self.caller = 0  # where the model was called from last
        self._callers: dict[tuple[tuple[CodeType, int], ...], int] = {}

    def called_from(self, frame: FrameType | None) -> None:
        """A model is called from the frame: to validate, say, where it was called to train before."""
        place: list[tuple[CodeType, int]] = []
        while frame is not None:
            place.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        key = tuple(place)
        if len(self._callers) < _MOST_CALLERS:
            self._callers.setdefault(key, len(self._callers) + 1)
        self.caller = self._callers.get(key, 0)

    def call_again(self, op: Op, frame: FrameType) -> None:
        """An op that is known is called from the frame, within a model that was called from elsewhere."""
        if op.stacks is None:
            op.stacks = {op.caller: op.stack}
        stack = op.stacks.get(self.caller)
        if stack is None:
            stack = op.stacks[self.caller] = self.stacks.number(frame)
        op.caller, op.stack = self.caller, stack

    def make(self, name: str, frame: FrameType | None) -> Op:
        """Define an op that is called from the frame."""
        stack = self.stacks.number(frame) if frame else 0
        return Op(name, self._spool.define("op", {"name": name}), stack, self.caller)

    def named(self, name: str) -> Op:
        """The op of a name without a call index; it has no stack."""
        found = self._named.get(name)
        if found is None:
            found = self.make(name, None)
            if found.id:
                self._named[name] = found
        return found

    def backward(self, op: Op) -> Op:
        """The op that computes the gradients of a forward op, with its call's index."""
        found = op.backward
        if found is None:
            found = self.make(backward_name(op.name), None)
            if found.id:
                op.backward = found
        return found

    def site(self, op: Op, key: SiteKey, role: str, path: str) -> int:
        """Define which argument of an op a value is."""
        number = self._spool.define("site", {"op": op.id, "role": role, "path": path})
        if number:
            op.sites[key] = number
            if not op.name.startswith(_OUTSIDE):
                self.inside.add(number)
        return number


def backward_name(forward: str) -> str:
    """The name of the backward op that belongs to a forward one."""
    begin, _, end = forward.rpartition(".forward")
    return f"{begin}.backward{end}"


class Api:
    """A listed API. A method of tensors that an operator calls, too, has another name for each operator."""

    __slots__ = ("_by_operator", "_by_place", "_calls", "_kept")

    def __init__(self, calls: Calls | None, by_operator: Mapping[str, Calls] | None) -> None:
        self._calls, self._by_operator = calls, by_operator
        self._kept: list[CodeType] = []  # so that no other code gets the id of one in a key
        self._by_place: dict[tuple[int, int, bool], Calls | None] = {}

    def calls(self, frame: FrameType, args: tuple[object, ...]) -> Calls | None:
        """The calls by the name that the caller used; None for an operator that is not listed."""
        if self._by_operator is None:
            return self._calls
        while frame.f_code.co_name == "__torch_function__" and frame.f_back:
            frame = frame.f_back
        two_tensors = len(args) > 1 and isinstance(args[1], torch.Tensor)
        key = (id(frame.f_code), frame.f_lasti, two_tensors)
        found = self._by_place.get(key, self)
        if not isinstance(found, Api):
            return found
        return self._resolve(key, frame, two_tensors)

    def _resolve(self, key: tuple[int, int, bool], frame: FrameType, two_tensors: bool) -> Calls | None:
        assert self._by_operator is not None
        used = operators.used(frame, two_tensors)
        calls = self._calls if used is None else self._by_operator.get(used)
        if len(self._by_place) < _MOST_PLACES:
            self._by_place[key] = calls
            self._kept.append(frame.f_code)
        return calls


def listed_apis(file: ApiList | None = None) -> dict[str, list[str]]:
    """The names of what is recorded, by prefix, as a file changes them."""
    usual: dict[str, list[str]] = json.loads(resources.files("tensortap._record").joinpath("apis.json").read_text())
    return file.change(usual) if file else usual


def apis(names: Names, file: ApiList | None = None) -> dict[Callable[..., Any], Api]:
    """Each listed API of this torch, by the function that a mode is called with."""
    listed = listed_apis(file)
    table: dict[Callable[..., Any], Api] = {}
    for prefix, place in _PLACES:
        for name, function in _functions(place, listed[prefix]):
            calls = Calls(names, f"{prefix}.{name.rpartition('.')[2]}", ".forward")
            table[function] = Api(calls, None)
    dunders = {name: Calls(names, f"Tensor.{name}", ".forward") for name in listed["Tensor"] if name.startswith("__")}
    for name in operators.METHODS:
        method = getattr(torch.Tensor, name, None)
        if method is not None:
            listed_too = Calls(names, f"Tensor.{name}", ".forward") if name in listed["Tensor"] else None
            table[method] = Api(listed_too, dunders)
    return table


def missing_apis(file: ApiList) -> list[str]:
    """What a file adds, and this torch does not have."""
    places = dict(_PLACES)
    return [f"{prefix}.{name}" for prefix, name in file.added() if prefix in places and not list(_functions(places[prefix], [name]))]


def _functions(place: Any, listed: Iterable[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in listed:
        found = place
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            yield name, found
