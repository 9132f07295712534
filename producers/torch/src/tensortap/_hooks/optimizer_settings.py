"""What optimizers step with, of each group of parameters: told in the first step that is recorded, and where it changes."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Final
from weakref import WeakKeyDictionary

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from tensortap._record.argument_trees import KWARG
from tensortap._record.op_names import Op
from tensortap._record.recorder import Recorder

_NAMES: Final = ("lr", "momentum", "betas", "eps", "weight_decay")

Setting = tuple[str, float | Tensor]  # by its path, as 0.lr; one that lies on a device stays there


class _Known:
    """An optimizer that has stepped."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.groups: list[tuple[Any, ...]] = []  # as they were last
        self.told: dict[str, float] = {}


class OptimizerSettings:
    """A hook on every optimizer's step, whatever the level. An op has the settings of one optimizer that are new."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._known: WeakKeyDictionary[Optimizer, _Known] = WeakKeyDictionary()
        self._numbers: dict[str, Iterator[int]] = {}
        self._handle: Any = None

    def install(self) -> None:
        """Hook."""
        if self._recorder.settings.task != "structure":
            self._handle = register_optimizer_step_pre_hook(self._recorder.guard.hook("settings of an optimizer", self._steps))

    def remove(self) -> None:
        """Undo it."""
        if self._handle:
            self._handle.remove()
            self._handle = None

    def _steps(self, optimizer: Optimizer, args: object, kwargs: object) -> None:
        recorder = self._recorder
        if not recorder.live:
            return
        with recorder.lock:
            known = self._known.get(optimizer) or self._meet(optimizer)
            groups = [tuple(map(group.get, _NAMES)) for group in optimizer.param_groups]
            if _are_same(groups, known.groups):
                return
            known.groups = groups
            new = [(path, value) for path, value in _settings(optimizer) if not _is_told(known, path, value)]
            if new:
                self._tell(known, new)

    def _meet(self, optimizer: Optimizer) -> _Known:
        kind = type(optimizer).__name__
        number = next(self._numbers.setdefault(kind, itertools.count()))
        op = self._recorder.names.make(f"Optimizer.{kind}.settings.{number}", sys._getframe(1))
        known = self._known[optimizer] = _Known(op)
        return known

    def _tell(self, known: _Known, new: list[Setting]) -> None:
        seq = self._recorder.begin_always(known.op)
        for path, value in new if known.op.id else ():
            if isinstance(value, Tensor):
                self._recorder.walker.one(known.op, seq, KWARG, path, value)
            else:
                known.told[path] = value
                self._recorder.walker.number(known.op, seq, KWARG, path, value)


def _are_same(groups: list[tuple[Any, ...]], last: list[tuple[Any, ...]]) -> bool:
    """Whether all are what they were. A tensor may have been written in place: it is not compared here, nor waited for."""
    return len(groups) == len(last) and all(
        not _has_tensor(now) and (now is before or now == before)
        for pair in zip(groups, last, strict=True)
        for now, before in zip(*pair, strict=True)
    )


def _has_tensor(value: object) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, tuple | list) and any(isinstance(one, Tensor) for one in value))


def _is_told(known: _Known, path: str, value: float | Tensor) -> bool:
    if isinstance(value, Tensor):
        return False
    before = known.told.get(path)
    return before is not None and (before == value or (before != before and value != value))


def _settings(optimizer: Optimizer) -> Iterator[Setting]:
    for at, group in enumerate(optimizer.param_groups):
        yield from _of_group(f"{at}", group)


def _of_group(path: str, group: Mapping[str, Any]) -> Iterator[Setting]:
    for name in _NAMES:
        value = group.get(name)
        if isinstance(value, tuple | list):
            for at, one in enumerate(value):
                yield from _number(f"{path}.{name}.{at}", one)
        else:
            yield from _number(f"{path}.{name}", value)


def _number(path: str, value: object) -> Iterator[Setting]:
    if isinstance(value, Tensor):
        on_cpu = value.device.type == "cpu" and value.numel() == 1
        yield path, float(value) if on_cpu else value
    elif isinstance(value, Real):  # numbers of numpy are such, too
        yield path, float(value)
