"""From the arguments and results of a call to its sites: each tensor and each other value at its path."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial
from typing import Any, Final
from weakref import ref

import torch
import torch.distributed as dist
from torch import Tensor

from tensortap._record import unseen
from tensortap._record.op_names import Names, Op
from tensortap._record.tensor_rows import Sees
from tensortap._spool import records
from tensortap._spool.spool import Spool

INPUT: Final = "input"
KWARG: Final = "kwarg"
OUTPUT: Final = "output"
PARAMETER: Final = "parameter"
GRADIENT: Final = "parameter_gradient"

_PLAIN: Final = frozenset((Tensor, torch.nn.Parameter))
_SIMPLE: Final = frozenset((type(None), bool, int, float, str))
_INT: Final = ("int", "")  # kind and dtype
_FLOAT: Final = ("float", "")
_WIDE: Final = 1 << 63  # a row has an int of 64 bits
_GIVEN: Final = frozenset((INPUT, KWARG))
_BASE: Final = {INPUT: 0, OUTPUT: 1 << 20}
_DEEPEST: Final = 32
_MOST_LITERALS: Final = 1 << 16
_LONGEST_TEXT: Final = 4096
_AGAIN: Final = "as before in this step"
# Keyword arguments that msProbe records as types; elsewhere it leaves types out.
_TYPE_NAMES: Final = frozenset(("device", "dtype", "output_dtype"))

Leaf = tuple[str, object]


class Walker:
    """Writes the rows of a call's values. To be called under the session's lock, where nothing is intercepted."""

    def __init__(self, spool: Spool, names: Names, observer: Sees, counts: unseen.Unseen) -> None:
        self._spool, self._names, self._observer, self._unseen = spool, names, observer, counts
        self._literals: dict[tuple[object, object], int] = {}
        self._given: dict[int, tuple[ref[Any], dict[str, object]]] = {}

    def forget(self) -> None:
        """Write every object anew from here on: at each step."""
        self._given.clear()

    def show(self, observer: Sees) -> None:
        """Show tensors to another from here on."""
        self._observer = observer

    def positional(self, op: Op, seq: int, role: str, values: Iterable[object]) -> None:
        """The values of a role, each at its place."""
        sites, base = op.sites, _BASE[role]
        for at, value in enumerate(values):
            kind = type(value)
            if kind in _PLAIN:
                site = sites.get(base + at) or self._names.site(op, base + at, role, str(at))
                self._observer.tensor(value, site, seq)  # type: ignore[arg-type]
            elif kind in _SIMPLE:
                site = sites.get(base + at) or self._names.site(op, base + at, role, str(at))
                self._simple(kind, value, site, seq)
            else:
                self._nested(op, seq, role, str(at), value)

    def named(self, op: Op, seq: int, role: str, values: Mapping[str, object]) -> None:
        """The values of a role, each by its name."""
        for name, value in values.items():
            self.one(op, seq, role, name, value)

    def one(self, op: Op, seq: int, role: str, path: str, value: object) -> None:
        """One value of a role, at its path."""
        if type(value) in _PLAIN:
            site = op.sites.get((role, path)) or self._names.site(op, (role, path), role, path)
            self._observer.tensor(value, site, seq)  # type: ignore[arg-type]
        else:
            self._nested(op, seq, role, path, value)

    def number(self, op: Op, seq: int, role: str, path: str, value: float) -> None:
        """A number that may be another in each step: its row has it, as a layout of each would be one more definition."""
        site = op.sites.get((role, path)) or self._names.site(op, (role, path), role, path)
        described = ("other", "float", "")
        known = self._literals.get((str, described)) or self._keep((str, described), *described, count=1)
        spool = self._spool
        address = spool.reserve()
        if not address or not site or not known:
            spool.dropped += bool(address)
            return
        name = records.Name(site, known, seq, 0, spool.place)
        spool.advance(records.measured(address, name, records.of_number(value), None, None))

    def _nested(self, op: Op, seq: int, role: str, path: str, value: Any) -> None:
        replaced = self._replaced(value) if role in _GIVEN else None
        if replaced is None:
            self._leaves(op, seq, role, leaves(path, value, 0))
            return
        site = op.sites.get((role, path)) or self._names.site(op, (role, path), role, path)
        self._describe(("other", _name(type(value)), _AGAIN), site, seq)
        for name in replaced:
            self._leaves(op, seq, role, leaves(f"{path}.{name}", getattr(value, name, None), 1))

    def _leaves(self, op: Op, seq: int, role: str, found: Iterable[Leaf]) -> None:
        for place, leaf in found:
            site = op.sites.get((role, place)) or self._names.site(op, (role, place), role, place)
            kind = type(leaf)
            if kind in _PLAIN:
                self._observer.tensor(leaf, site, seq)  # type: ignore[arg-type]
            elif isinstance(leaf, Tensor):
                self._observer.unusual(leaf, site, seq)
            elif kind in _SIMPLE:
                self._simple(kind, leaf, site, seq)
            else:
                self._other(leaf, site, seq, role)

    def _replaced(self, value: Any) -> list[str] | None:
        """The members that are others than when this object was last written in this step; None when it was not.

        An engine gives all that it knows of a step to each layer.
        """
        fields = getattr(type(value), "__dataclass_fields__", None)
        if fields is None or not hasattr(value, "__dict__"):
            return None
        known, members = self._given.get(id(value)), {name: _held(member) for name, member in vars(value).items()}
        self._given[id(value)] = ref(value, partial(self._given.pop, id(value))), members
        if known is None or known[0]() is not value:
            return None
        return [name for name in fields if members.get(name) is not known[1].get(name)]

    def _simple(self, kind: type, value: object, site: int, seq: int) -> None:
        if kind is float:
            self._number(_FLOAT, 0, value, site, seq)  # type: ignore[arg-type]
        elif kind is int and -_WIDE <= value < _WIDE:  # type: ignore[operator]
            self._number(_INT, value, 0.0, site, seq)  # type: ignore[arg-type]
        else:
            known = self._literals.get((kind, value)) or self._define((kind, value), value)
            self._spool.literal(site, known, seq)

    def _number(self, kind: tuple[str, str], whole: int, real: float, site: int, seq: int) -> None:
        # Every number is in its row and none in a definition: when it first comes nobody can tell a constant from what will
        # be another in each step, and its row is as large either way.
        known = self._literals.get(kind) or self._keep(kind, *kind, "")
        self._spool.number(site, known, whole, real, seq)

    def _other(self, value: object, site: int, seq: int, role: str) -> None:
        kind, dtype, literal = described = describe(value)
        if role == OUTPUT and kind == "other" and not literal:
            self._unseen.count(unseen.UNSUPPORTED_OUTPUT, dtype)
        if kind == "float":
            self._number((kind, dtype), 0, float(value), site, seq)  # type: ignore[arg-type]
        elif kind == "int" and -_WIDE <= int(value) < _WIDE:  # type: ignore[call-overload]
            self._number((kind, dtype), int(value), 0.0, site, seq)  # type: ignore[call-overload]
        else:
            self._describe(described, site, seq)

    def _describe(self, described: tuple[str, str, str], site: int, seq: int) -> None:
        number = self._literals.get((str, described)) or self._keep((str, described), *described)
        self._spool.literal(site, number, seq)

    def _define(self, key: tuple[type, object], value: object) -> int:
        return self._keep(key, *describe(value))

    def _keep(self, key: tuple[object, object], kind: str, dtype: str, literal: str, *, count: int = 0) -> int:
        number = self._spool.define(
            "layout",
            {
                "kind": kind,
                "dtype": dtype,
                "shape": [],
                "stride_class": "",
                "device_kind": "",
                "requires_grad": None,
                "placement": "",
                "literal": literal,
                "count": count,
            },
        )
        if number:
            if len(self._literals) >= _MOST_LITERALS:
                self._literals.clear()
            self._literals[key] = number
        return number


def leaves(path: str, value: Any, depth: int) -> Iterator[Leaf]:
    """The values within containers, by path, in order. What is no container is its own leaf; an iterator is not run."""
    if isinstance(value, (Tensor, torch.Size)) or depth >= _DEEPEST:
        yield path, value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from _members(path, ((name, getattr(value, name, None)) for name in value._fields), depth)  # pyright: ignore[reportAttributeAccessIssue]
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _members(path, ((name, getattr(value, name, None)) for name in value.__dataclass_fields__), depth)
    elif isinstance(value, (list, tuple)):
        yield from _members(path, enumerate(value), depth)
    elif isinstance(value, dict):
        yield from _members(path, value.items(), depth)
    elif not isinstance(value, (torch.dtype, torch.device)) or path.rpartition(".")[2] in _TYPE_NAMES:
        yield path, value


def _members(path: str, members: Iterable[tuple[object, object]], depth: int) -> Iterator[Leaf]:
    for name, value in members:
        yield from leaves(f"{path}.{name}", value, depth + 1)


def describe(value: object) -> tuple[str, str, str]:
    """Kind, dtype and literal of the layout of a value that is no tensor, as the importer of msProbe's dumps has them."""
    match value:
        case None:
            return "none", "", ""
        case bool():
            return "bool", "", "true" if value else "false"
        case int():
            return "int", "", str(int(value))
        case float():
            return "float", "", _float(value)
        case str():
            return "str", "", value[:_LONGEST_TEXT]
        case slice():
            return "slice", "", json.dumps([_bound(part) for part in (value.start, value.stop, value.step)], separators=(",", ":"))
        case torch.Size():
            return "size", "", json.dumps([int(size) for size in value], separators=(",", ":"))
        case torch.dtype():
            return "dtype", "", str(value)
        case torch.device():
            return "device", "", f"{value.type}:{value.index}"  # cpu:None, as msProbe writes it
        case _:
            return _described_by_type(value)


def _described_by_type(value: Any) -> tuple[str, str, str]:
    kind = type(value)
    if value is Ellipsis:
        return "other", "ellipsis", "..."
    if isinstance(value, torch.memory_format):
        return "other", "torch.memory_format", str(value).removeprefix("torch.")
    if dist.is_available() and isinstance(value, dist.ProcessGroup):
        return "group", "", _group(value)
    if dist.is_available() and isinstance(value, (dist.ReduceOp, dist.ReduceOp.RedOpType)):
        return "other", "torch.distributed.ReduceOp", str(value)
    if kind.__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        plain = float(value) if kind.__name__ == "longdouble" else value.item()  # its item is of the same type
        if type(plain) is not kind:
            described = describe(plain)
            return described[0], kind.__name__, described[2]
    return "other", _name(kind), ""


def _held(member: object) -> object:
    """What tells a member from one that comes after it, whose id may be the same. It keeps no tensor alive that is itself one."""
    return ref(member) if type(member).__weakrefoffset__ else member


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float.__repr__(value)


def _bound(part: object) -> int | None:
    return int(part) if isinstance(part, int) else None  # a tensor's value is not asked for: that would wait for a device


def _group(group: Any) -> str:
    ranks = dist.get_process_group_ranks(group)
    return json.dumps({"group_ranks": ranks, "group_id": f"{zlib.crc32(str(ranks).encode()):08x}"}, separators=(",", ":"))
