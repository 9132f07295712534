"""Requests for traces: stacks, which a thread of ours takes whatever the program does, and torch.profiler, which needs its steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tensortap._health.sampler import Sampler
from tensortap._session.inbox import PROFILE, Asked
from tensortap._session.profiling import Profiling
from tensortap._spool import layout

_MOST_SECONDS: Final = 3600
_MOST_RATE: Final = 1000
_MOST_STEPS: Final = 1 << 20
Told = Callable[[str, Mapping[str, object]], None]


class Tracing:
    """Follows these requests of one process."""

    def __init__(self, answer: Callable[..., None], name: str, label: str, told: Told) -> None:
        """Answers are as those of an Inbox. The name is that of the process's folder; told hears of each file that is written."""
        self._answer, self._name, self._label, self._told = answer, name, label, told
        self._sampler: Sampler | None = None
        self._profiling = Profiling(told)

    def follow(self, asked: Asked, step: int) -> None:
        """Begin in that step, or refuse it: a profile by the thread that makes steps, a trace by one of ours, as the program may hang."""
        try:
            self._take(asked.sequence, json.loads(asked.text), step)
        except (OSError, ValueError, RuntimeError) as error:  # the last is torch's, whose profiler does not start
            self._answer(asked.sequence, layout.REFUSED, step, str(error))
        else:
            self._answer(asked.sequence, layout.TRACING, step)

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

    def _take(self, sequence: int, request: dict[str, Any], step: int) -> None:
        do = request.pop("do")
        folder = Path(_checked(request, "folder", str, lambda folder: bool(folder))) / self._name
        path = folder / f"{do}-{sequence}.json"
        begin = self._profile_as(request) if do == PROFILE else self._sample_as(request)
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
