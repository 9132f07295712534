"""Every collective and message of torch.distributed, numbered within its group, in recorded steps and between them.

The numbers count from the same call on at all ranks, so that they join them: what one rank began and another did not is seen.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from tensortap._hooks.collectives import ASYNCHRONOUS, RECEIVES, works_of
from tensortap._record.collective_log import Call, CallLog, Group, Texts
from tensortap._record.guard import Guard, unintercepted
from tensortap._spool import layout

_FURTHER: Final = ("barrier", "monitored_barrier", "all_reduce_coalesced", "all_gather_coalesced")
_MESSAGES: Final = ("send", "recv", "isend", "irecv", "batch_isend_irecv")


class _UnderWay(threading.local):
    yes = False


class _Form:
    """Where the arguments of one function are."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.is_message = name, name in _MESSAGES
        self._places = {parameter: at for at, parameter in enumerate(inspect.signature(function).parameters)}
        self._received = RECEIVES.get(name, (-1, ""))

    def value(self, parameter: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What is given for that parameter; None where nothing is."""
        at = self._places.get(parameter, len(args))
        return args[at] if at < len(args) else kwargs.get(parameter)

    def group(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The group that it is called in; no ProcessGroup where this rank is none of its members."""
        given = self.value("group", args, kwargs)
        batch = self.value("p2p_op_list", args, kwargs)
        if given is None and batch:
            given = batch[0].group
        return dist.distributed_c10d._get_default_group() if given is None else given

    def tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """What is given, and what is received; where that is written in place, the same."""
        at, parameter = self._received
        received = list(_tensors(self.value(parameter, args, kwargs) if parameter else None))
        sent = [value for place, value in enumerate(args) if place != at] + [value for name, value in kwargs.items() if name != parameter]
        given = [tensor for value in sent for tensor in _tensors(value)]
        return given, received or given

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The name, of a message with its ranks."""
        to, by = self.value("dst", args, kwargs), self.value("src", args, kwargs)
        if self.name in ("send", "isend"):
            return f"{self.name} {dist.get_rank()}->{to}"
        if self.name in ("recv", "irecv"):
            return f"{self.name} {dist.get_rank()}<-{'any' if by is None else by}"
        return self.name


class CollectiveCalls:
    """Numbers the calls from install on. They are on file where there is a log."""

    def __init__(self, guard: Guard) -> None:
        self.log: CallLog | None = None
        self._guard = guard
        self._groups: WeakKeyDictionary[Any, Group] = WeakKeyDictionary()
        self._made: dict[tuple[str, tuple[int, ...]], int] = {}
        self._waited: WeakKeyDictionary[Any, Call] = WeakKeyDictionary()
        self._texts = Texts()
        self._undo: list[tuple[Any, str, Any, Any]] = []
        self._under_way = _UnderWay()
        self._active = False

    def install(self) -> None:
        """Wrap the functions where they are looked up."""
        if self._active or not dist.is_available():
            return
        self._active = True
        listed: list[str] = json.loads(resources.files("tensortap._record").joinpath("apis.json").read_text())["Distributed"]
        for name in (*listed, *_FURTHER):
            original = getattr(dist.distributed_c10d, name, None)
            if original is not None:
                wrapped = self._wrap(_Form(name, original), original)
                self._replace(dist.distributed_c10d, name, original, wrapped)
                self._replace(dist, name, original, wrapped)
        self._replace(dist.Work, "wait", dist.Work.wait, self._wrap_wait(dist.Work.wait))

    def remove(self) -> None:
        """Put the originals back; what was wrapped since keeps a wrap of ours that does nothing."""
        self._active, self.log = False, None
        for place, name, original, wrapped in reversed(self._undo):
            if getattr(place, name, None) is wrapped:
                setattr(place, name, original)
        self._undo.clear()

    def after_fork(self) -> None:
        """In a child: groups are the parent's."""
        self.log = None
        self._groups.clear()
        self._waited.clear()

    def _replace(self, place: Any, name: str, original: Any, wrapped: Any) -> None:
        if getattr(place, name, None) is original:
            setattr(place, name, wrapped)
            self._undo.append((place, name, original, wrapped))

    def _wrap(self, form: _Form, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or not self._active or self._under_way.yes:
                return original(*args, **kwargs)
            call = self._guarded(self._begins, form, args, kwargs)
            self._under_way.yes = True  # some pass through the modes of torch functions, which call them again
            try:
                result = original(*args, **kwargs)
            except BaseException:  # it goes on its way
                self._guarded(self._ends, call, layout.COLLECTIVE_FAILED)
                raise
            finally:
                self._under_way.yes = False
            self._guarded(self._returned, form, call, args, kwargs, result)
            return result

        return wrapped

    def _begins(self, form: _Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        group = self._group(form.group(args, kwargs))
        if group is None:
            return None
        given, received = form.tensors(args, kwargs)
        device = any(tensor.device.type != "cpu" for tensor in given)
        number = group.next(form.is_message)
        call = Call(group, number, form.called(args, kwargs), form.is_message, self._texts.of(given), self._texts.of(received), device)
        if self.log:
            self.log.begins(call, sys._getframe())
        return call

    def _returned(self, form: _Form, call: Call | None, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if call is None:
            return
        later = list(works_of(result)) if form.value("async_op", args, kwargs) or form.name in (*ASYNCHRONOUS, "batch_isend_irecv") else []
        if later:
            self._waited[later[-1]] = call
        self._ends(call, layout.COLLECTIVE_SCHEDULED if later or call.on_device else layout.COLLECTIVE_COMPLETED)

    def _ends(self, call: Call | None, state: int) -> None:
        if call and self.log:
            self.log.ends(call, state)

    def _wrap_wait(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(work, *args, **kwargs)
            if self._active:
                self._guarded(self._waited_for, work)
            return result

        return wait

    def _waited_for(self, work: Any) -> None:
        call = self._waited.pop(work, None)
        if call and not call.on_device:
            self._ends(call, layout.COLLECTIVE_COMPLETED)

    def _group(self, given: Any) -> Group | None:
        if not isinstance(given, dist.ProcessGroup):
            return None
        known = self._groups.get(given)
        if known is None:
            self._meet(given)
            known = self._groups.get(given)
        return known

    def _meet(self, given: Any) -> None:
        """Groups are told apart in the order in which they were made, which is the same at all their ranks."""
        for group in (*dist.distributed_c10d._world.pg_map, given):
            if group in self._groups:
                continue
            description, ranks = str(getattr(group, "group_desc", "")), tuple(dist.get_process_group_ranks(group))
            before = self._made.get((description, ranks), 0)
            self._made[description, ranks] = before + 1
            self._groups[group] = Group(description, ranks, before)

    def _guarded(self, action: Callable[..., Any], *args: Any) -> Any:
        try:
            with unintercepted():
                return self._guard.timed(action)(*args)
        except Exception as error:  # as in Guard: whatever it is, it is ours
            self._guard.caught("collective", error)
            return None


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            tensor = part if isinstance(part, torch.Tensor) else getattr(part, "tensor", None)
            if isinstance(tensor, torch.Tensor):
                yield tensor
