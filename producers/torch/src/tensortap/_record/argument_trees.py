"""From the arguments and results of a call to its sites: each tensor and each other value at its path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import Any, Final
from weakref import ref

import torch
from torch import Tensor

from tensortap._record import unseen
from tensortap._record.literals import describe, type_name
from tensortap._record.op_names import Names, Op
from tensortap._record.tensor_rows import Sees
from tensortap._spool import records
from tensortap._spool.spool import Spool
from tensortap._stats import taker

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
_PLACES: Final = tuple(map(str, range(64)))
# Literals that are taken with tensors.
_TAKEN: Final = {(type(None), None): taker.NONE, (bool, True): taker.TRUE, (bool, False): taker.FALSE, _INT: taker.INT, _FLOAT: taker.FLOAT}
_DEEPEST: Final = 32
_MOST_LITERALS: Final = 1 << 16
_AGAIN: Final = "as before in this step"
# Keyword arguments that msProbe records as types; elsewhere it leaves types out.
_TYPE_NAMES: Final = frozenset(("device", "dtype", "output_dtype"))

Leaf = tuple[str, object]


class Walker:
    """Writes the rows of a call's values. To be called under the session's lock, where nothing is intercepted."""

    def __init__(self, spool: Spool, names: Names, observer: Sees, counts: unseen.Unseen, taker: taker.Taker | None = None) -> None:
        """With what takes literals where the observer takes tensors."""
        self._spool, self._names, self._observer, self._unseen, self._taker = spool, names, observer, counts, taker
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
        values = values if type(values) is tuple else tuple(values)
        sites = op.places[role]
        done = self._observer.take(values, sites, 0, seq)
        self.rest(op, seq, role, values, sites, done)

    def rest(self, op: Op, seq: int, role: str, values: tuple[object, ...], sites: list[int], done: int) -> None:
        """Likewise of those behind the first, which are done."""
        if done < len(values):
            paths = _PLACES if len(values) <= len(_PLACES) else list(map(str, range(len(values))))
            self._each(op, seq, role, paths, values, sites, done)

    def named(self, op: Op, seq: int, role: str, values: Mapping[str, object]) -> None:
        """The values of a role, each by its name."""
        names, found = tuple(values), tuple(values.values())
        known = op.named.get(role)
        if known is None or known[0] != names:
            known = op.named[role] = names, []
        done = self._observer.take(found, known[1], 0, seq)
        if done < len(found):
            self._each(op, seq, role, names, found, known[1], done)

    def _each(self, op: Op, seq: int, role: str, paths: Sequence[str], values: tuple[object, ...], sites: list[int], at: int) -> None:
        """The value at a place, and those after it, as far as they do not go together."""
        while at < len(values):
            if at >= len(sites):
                sites.append(self._site_of(op, role, paths[at], values[at]))
            self.one(op, seq, role, paths[at], values[at])
            at = self._observer.take(values, sites, at + 1, seq)

    def _site_of(self, op: Op, role: str, path: str, value: object) -> int:
        """That of what has one site; 0 for what may have others in it."""
        kind = type(value)
        if kind not in _PLAIN and kind not in _SIMPLE:
            return 0
        return op.sites.get((role, path)) or self._names.site(op, (role, path), role, path)

    def one(self, op: Op, seq: int, role: str, path: str, value: object) -> None:
        """One value of a role, at its path."""
        kind = type(value)
        if kind not in _PLAIN and kind not in _SIMPLE:
            self._nested(op, seq, role, path, value)
            return
        site = op.sites.get((role, path)) or self._names.site(op, (role, path), role, path)
        if kind in _PLAIN:
            self._observer.tensor(value, site, seq)  # type: ignore[arg-type]
        else:
            self._simple(kind, value, site, seq)

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
        self._describe(("other", type_name(type(value)), _AGAIN), site, seq)
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
            if self._taker and key in _TAKEN:
                self._taker.literal(_TAKEN[key], number)
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


def _held(member: object) -> object:
    """What tells a member from one that comes after it, whose id may be the same. It keeps no tensor alive that is itself one."""
    return ref(member) if type(member).__weakrefoffset__ else member
