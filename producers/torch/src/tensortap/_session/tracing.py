"""Requests for traces: stacks, which a thread of ours takes whatever the program does, and torch.profiler, which needs its steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tensortap._health.sampler import Sampler
from tensortap._session.profiling import Profiling
from tensortap._spool import layout
from tensortap._spool.control_page import ControlPage, asked_for

_MOST_SECONDS: Final = 3600
_MOST_RATE: Final = 1000
_MOST_STEPS: Final = 1 << 20
Told = Callable[[str, Mapping[str, object]], None]


class Tracing:
    """Follows these requests of one process, each once, and answers them as often as they come."""

    def __init__(self, page: ControlPage, name: str, label: str, told: Told) -> None:
        """The name is that of the process's folder; told hears of each file that is written."""
        self._page, self._name, self._label, self._told = page, name, label, told
        self._seen = 0  # the request that was looked at last, beside the program's steps
        self._followed: dict[int, int] = {}  # requests, and the steps that they were answered with
        self._lock = threading.Lock()
        self._sampler: Sampler | None = None
        self._profiling = Profiling(told)

    def look(self, step: int) -> None:
        """Follow a request for stacks, if there is a new one. For a thread of ours, as the program may hang."""
        if self._page.sequence() == self._seen or (request := self._page.request()) is None:
            return
        self._seen, text = request
        self._follow(self._seen, text, step, begins=False)

    def begins(self, sequence: int, text: bytes, step: int) -> bool:
        """Whether this request, which is met as a step begins, is for a trace; it is followed then."""
        self._seen = sequence  # or one that comes again after this one would not be new
        return self._follow(sequence, text, step, begins=True)

    def step_begins(self, step: int) -> None:
        """A step begins."""
        if self._profiling.is_under_way:
            try:
                self._profiling.step_begins(step)
            except RuntimeError as error:  # of torch's profiler, which the program may have ended
                self._profiling.leave()
                self._told("profile", {"failed": str(error)})

    def end(self) -> None:
        """What is under way ends, and is kept as far as it came."""
        try:
            self._profiling.end()
        finally:
            if self._sampler:
                self._sampler.stop()

    def leave(self) -> None:
        """This is a child that was forked: threads and files are the parent's."""
        self._sampler = None
        self._profiling.leave()

    def _follow(self, sequence: int, text: bytes, step: int, *, begins: bool) -> bool:
        request = asked_for(text, "trace", "profile")
        if request is None or (request["do"] == "profile" and not begins):
            return False
        with self._lock:
            if sequence not in self._followed:
                try:
                    self._take(sequence, request, step)
                except (OSError, ValueError, RuntimeError) as error:  # the last is torch's, whose profiler does not start
                    self._page.answer(sequence, layout.REFUSED, max(step, 0), str(error))
                    return True
                self._followed[sequence] = max(step, 0)
            self._page.answer(sequence, layout.TRACING, self._followed[sequence])
        return True

    def _take(self, sequence: int, request: dict[str, Any], step: int) -> None:
        do = request.pop("do")
        folder = Path(_checked(request, "folder", str, lambda folder: bool(folder))) / self._name
        path = folder / f"{do}-{sequence}.json"
        begin = self._profile_as(request) if do == "profile" else self._sample_as(request)
        if request:
            raise ValueError(f"{min(request)} is unknown here: the agent may be of a later release")
        _make(folder)
        begin(path)

    def _profile_as(self, request: dict[str, Any]) -> Callable[[Path], None]:
        steps = _checked(request, "steps", int, lambda steps: 1 <= steps <= _MOST_STEPS)
        return partial(self._profiling.begin, steps=steps)

    def _sample_as(self, request: dict[str, Any]) -> Callable[[Path], None]:
        seconds = _checked(request, "seconds", (int, float), lambda seconds: 0 < seconds <= _MOST_SECONDS)
        rate = _checked(request, "rate", int, lambda rate: 1 <= rate <= _MOST_RATE)
        return partial(self._sample, seconds=seconds, rate=rate)

    def _sample(self, path: Path, seconds: float, rate: int) -> None:
        if self._sampler and self._sampler.is_under_way:
            raise ValueError("another trace of it is under way: ask again when that has ended")

        def ended(took: float, failure: Exception | None) -> None:
            said: dict[str, object] = {"path": str(path), "seconds": took}
            self._told("trace", said | ({"failed": str(failure)} if failure else {}))

        self._sampler = Sampler(path, seconds=seconds, rate=rate, label=self._label, ended=ended)


def _checked(request: dict[str, Any], name: str, kind: Any, holds: Callable[[Any], bool]) -> Any:
    value = request.pop(name, None)
    if not isinstance(value, kind) or isinstance(value, bool) or not holds(value):
        raise ValueError(f"{name} {value!r} is none that is possible")
    return value


def _make(folder: Path) -> None:
    try:
        for place in (folder.parent.parent, folder.parent, folder):  # of traces, of the run, of this process: nobody else's to read
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise OSError(f"cannot write below {folder}: {error.strerror}") from error
