"""What is on file of the collectives of a process: each as it begins and as it ends."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from itertools import groupby
from types import FrameType
from typing import Final

import torch

from tensortap._record.call_stacks import Stacks
from tensortap._spool import layout
from tensortap._spool.spool import Spool

_CALLS_PER_S: Final = 200  # of which all is written, for long
_MOST_AT_ONCE: Final = 4_000
_LATE_NS: Final = 1_000_000_000
_MOST_TEXTS: Final = 4_096
_MOST_TENSORS: Final = 16


class Texts:
    """Dtypes and shapes of tensors as text, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str] = {}

    def of(self, tensors: list[torch.Tensor]) -> str:
        """The text of these, of equal neighbours one with their number."""
        key = tuple((tensor.dtype, tuple(tensor.shape)) for tensor in tensors)
        text = self._known.get(key)
        if text is None:
            text = _text([f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]" for dtype, shape in key])
            if len(self._known) >= _MOST_TEXTS:
                self._known.clear()
            self._known[key] = text
        return text


def _text(tensors: list[str]) -> str:
    counted = [(len(list(same)), one) for one, same in groupby(tensors)]
    words = [one if count == 1 else f"{count} x {one}" for count, one in counted[:_MOST_TENSORS]]
    return ", ".join(words) + (f" … {len(tensors)} in all" if len(counted) > _MOST_TENSORS else "")


class Group:
    """A process group, and how many calls were made in it."""

    def __init__(self, description: str, ranks: tuple[int, ...], before: int) -> None:
        self.fields = {"description": description, "ranks": list(ranks), "before": before}
        self.latest: Call | None = None
        self._collectives = self._messages = 0

    def next(self, is_message: bool) -> int:
        """The number of a call that begins, from 1."""
        if is_message:
            self._messages += 1
            return self._messages
        self._collectives += 1
        return self._collectives


class Call:
    """One call, without its tensors."""

    __slots__ = ("group", "inputs", "is_message", "name", "number", "on_device", "outputs", "since_ns", "stack", "state", "time_ns", "written")

    def __init__(self, group: Group, number: int, name: str, is_message: bool, inputs: str, outputs: str, on_device: bool) -> None:
        self.group, self.number, self.name, self.is_message = group, number, name, is_message
        self.inputs, self.outputs, self.on_device = inputs, outputs, on_device
        self.state, self.written, self.since_ns, self.stack = layout.COLLECTIVE_CALLED, 0, time.time_ns(), 0
        self.time_ns = self.since_ns


class CallLog:
    """Writes calls into the spool. Of more than it takes for long, it writes those that last, and the latest of each group."""

    def __init__(self, spool: Spool, lock: AbstractContextManager[bool], stacks: Stacks) -> None:
        self._spool, self._lock, self._stacks = spool, lock, stacks
        self._open: dict[int, Call] = {}
        self._groups: dict[int, tuple[Group, int]] = {}  # by their identity: with the id of their definition
        self._numbers: dict[str, int] = {}  # of texts
        self._room, self._filled_ns = float(_MOST_AT_ONCE), time.monotonic_ns()

    def begins(self, call: Call, frame: FrameType) -> None:
        """It is on file once this returns."""
        with self._lock:
            self._open[id(call)] = call
            if not call.is_message:
                call.group.latest = call
            if self._has_room():
                call.stack = self._stacks.number(frame)
                self._write(call)

    def ends(self, call: Call, state: int) -> None:
        """It has returned, or is complete."""
        with self._lock:
            self._open.pop(id(call), None)
            call.state, call.time_ns = state, time.time_ns()
            if call.written:
                self._write(call)

    def late(self) -> None:
        """To be called about once a second: what lasts is written, and how far each group has come."""
        now = time.time_ns()
        with self._lock:
            for call in list(self._open.values()):
                if not call.written and now - call.since_ns > _LATE_NS:
                    self._write(call)
            for group, _ in list(self._groups.values()):
                if group.latest and not group.latest.written and id(group.latest) not in self._open:
                    self._write(group.latest)

    def _has_room(self) -> bool:
        now = time.monotonic_ns()
        self._room = min(self._room + (now - self._filled_ns) * _CALLS_PER_S / 1e9, _MOST_AT_ONCE)
        self._filled_ns = now
        if self._room < 1:
            return False
        self._room -= 1
        return True

    def _write(self, call: Call) -> None:
        texts = [self._number(text) for text in (call.name, call.inputs, call.outputs)]
        times = call.time_ns, call.since_ns
        rest = texts[1], texts[2], call.stack, call.state, int(call.is_message)
        self._spool.write(layout.COLLECTIVE_KIND, layout.COLLECTIVE, self._group(call.group), texts[0], *times, call.number, *rest)
        call.written = call.state

    def _group(self, group: Group) -> int:
        known = self._groups.get(id(group))
        if known is None:
            known = self._groups[id(group)] = group, self._spool.define("group", group.fields)
        return known[1]

    def _number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            if len(self._numbers) >= _MOST_TEXTS:
                self._numbers.clear()
            number = self._numbers[text] = self._spool.text(text)
        return number
