"""Collective calls of torch.distributed, which modes do not see. Each is on file before it runs."""

from __future__ import annotations

import functools
import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from tensortap._record.guard import unintercepted
from tensortap._record.op_names import Op
from tensortap._record.recorder import Recorder
from tensortap._spool import layout

# Buffers that are written only: place among the arguments, and name. Their content before the call means nothing.
RECEIVES: Final[Mapping[str, tuple[int, str]]] = {
    "recv": (0, "tensor"),
    "irecv": (0, "tensor"),
    "all_gather": (0, "tensor_list"),
    "gather": (1, "gather_list"),
    "scatter": (0, "tensor"),
    "reduce_scatter": (0, "output"),
    "_reduce_scatter_base": (0, "output_tensor"),
    "_all_gather_base": (0, "output_tensor"),
    "all_to_all_single": (0, "output"),
    "all_to_all": (0, "output_tensor_list"),
    "all_gather_into_tensor": (0, "output_tensor"),
    "reduce_scatter_tensor": (0, "output"),
}
# Looked at once and only where collectives are recorded: hooks come and go with the steps that are wanted.
_signature: Final = functools.cache(inspect.signature)
ASYNCHRONOUS: Final = ("isend", "irecv")


class Collective:
    """One call under way: begun, and complete when it returns or, if asynchronous, when it is waited for."""

    def __init__(self, recorder: Recorder, op: Op, parent: int, path: str) -> None:
        self._recorder, self._op, self._parent = recorder, op, parent
        self.seq = recorder.begin(op, parent, path, wanted=recorder.forward, flags=layout.OP_OPENS)

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What it is given, without the buffers that it only writes."""
        if self.seq:
            self._recorder.inputs(self._op, self.seq, args, kwargs)

    def complete(self, values: tuple[Any, ...]) -> None:
        """What its buffers hold in the end."""
        if self.seq:
            self._recorder.outputs(self._op, self.seq, values)
            self._recorder.end(self._op, self._parent, self.seq)
        self._recorder.filter.ends_op(self._op.name)


class _UnderWay(threading.local):
    yes = False


class CollectiveHooks:
    """Wraps the functions where they are looked up, and puts them back.

    They write into tensors without raising their version, so what was read of tensors before is forgotten, at levels
    that do not record them too.
    """

    def __init__(self, recorder: Recorder, records: bool) -> None:
        self._recorder, self._records = recorder, records
        self._undo: list[tuple[Any, str, Any, Any]] = []
        self._waited: WeakKeyDictionary[Any, list[Callable[[], None]]] = WeakKeyDictionary()
        self._active = False
        self._under_way = _UnderWay()

    def install(self) -> None:
        """Wrap."""
        if not dist.is_available():
            return
        self._active = True
        listed: list[str] = json.loads(resources.files("tensortap._record").joinpath("apis.json").read_text())["Distributed"]
        for name in listed:
            original = getattr(dist.distributed_c10d, name, None)
            if original is not None:
                wrapped = self._wrap(name, original)
                self._replace(dist.distributed_c10d, name, original, wrapped)
                self._replace(dist, name, original, wrapped)
        self._replace(dist.Work, "wait", dist.Work.wait, self._wrap_wait(dist.Work.wait))

    def remove(self) -> None:
        """Put the originals back; what was wrapped since keeps a wrap of ours that does nothing."""
        self._active = False
        for place, name, original, wrapped in reversed(self._undo):
            if getattr(place, name, None) is wrapped:
                setattr(place, name, original)
        self._undo.clear()

    def _replace(self, place: Any, name: str, original: Any, wrapped: Any) -> None:
        if getattr(place, name, None) is original:
            setattr(place, name, wrapped)
            self._undo.append((place, name, original, wrapped))

    def _wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        calls = self._recorder.calls(f"Distributed.{name}", ".forward")

        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or not self._active or not self._recorder.live or self._under_way.yes:
                return original(*args, **kwargs)
            call: list[Collective] = []
            if self._records:
                self._guarded(lambda: call.append(self._begin(name, calls.take(), args, kwargs)))
            self._under_way.yes = True  # some pass through the modes of torch functions, which call them again
            try:
                result = original(*args, **kwargs)
            finally:
                self._under_way.yes = False
            self._guarded(self._recorder.observer.forget)
            if call:
                self._guarded(lambda: self._returned(call[0], name, _signature(original), args, kwargs, result))
            return result

        return wrapped

    def _begin(self, name: str, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Collective:
        frames = self._recorder.thread.frames
        parent, path = (frames[-1].op.id, frames[-1].path) if frames else (0, "")
        call = Collective(self._recorder, op, parent, path)
        place, written = RECEIVES.get(name, (-1, ""))
        seen = tuple(None if at == place else value for at, value in enumerate(args))
        call.given(seen, {key: value for key, value in kwargs.items() if key != written})
        return call

    def _returned(
        self, call: Collective, name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        values = (*args, *kwargs.values())
        bound = signature.bind(*args, **kwargs)
        if not (bound.arguments.get("async_op") or name in ASYNCHRONOUS or name == "batch_isend_irecv"):
            call.complete(values)
            return
        works = list(works_of(result))
        left = len(works)

        def waited() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self._guarded(lambda: call.complete(values))

        for work in works:
            self._waited.setdefault(work, []).append(waited)

    def _wrap_wait(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(work, *args, **kwargs)
            if self._active:
                self._guarded(self._recorder.observer.forget)
                for waited in self._waited.pop(work, ()):
                    waited()
            return result

        return wait

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            with self._recorder.lock, unintercepted():
                self._recorder.guard.timed(action)()
        except Exception as error:  # as in Guard: whatever it is, it is ours, and the collective is done
            self._recorder.guard.caught("collective", error)


def works_of(result: Any) -> Iterator[Any]:
    """Those that a call returned."""
    if isinstance(result, (list, tuple)):
        yield from (work for work in result if work is not None)
    elif result is not None:
        yield result
