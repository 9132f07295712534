"""What a program says of itself, from anywhere in it: heard by each tap of the process, by none where nothing is tapped."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, Protocol

from tensortap._record.noted import body

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

MOST_EARLY: Final = 1024  # events that are kept until it is known which run and rank they are of
Event = tuple[int, str, str]  # its time, what stands in its line, and the request that it names itself


class Hearer(Protocol):
    """A tap, or what stands for the first one until it is there."""

    def told(self, event: Event) -> None:
        """The program says something."""

    def saved(self, name: str, value: object) -> None:
        """The program gives a value to be recorded."""

    def caught(self, place: str, error: Exception) -> None:
        """An error of ours, which the program does not see."""


class Early:
    """Keeps what is said below `tensortap run` before there is a model to tap."""

    def __init__(self) -> None:
        self.kept: list[Event] = []
        self._pid = os.getpid()

    def told(self, event: Event) -> None:
        """Keep it; of a child that was forked it is no business of the tap's, which is the parent's."""
        if self._pid == os.getpid() and len(self.kept) < MOST_EARLY:
            self.kept.append(event)

    def saved(self, name: str, value: object) -> None:
        """There is no step that it could be of."""

    def caught(self, place: str, error: Exception) -> None:
        """There is nobody to count it."""


_hearers: Final[list[Hearer]] = [Early()] if os.environ.get("TENSORTAP_ATTACH") else []


def hear(hearer: Hearer) -> list[Event]:
    """Let it hear all that is said from here on. Returns what was said before there was any."""
    early = [one for one in _hearers if isinstance(one, Early)]
    _hearers[:] = [one for one in _hearers if not isinstance(one, Early)] + [hearer]
    return [event for one in early for event in one.kept]


def hear_no_more(hearer: Hearer) -> None:
    """It hears nothing from here on."""
    if hearer in _hearers:
        _hearers.remove(hearer)


def note(**fields: object) -> None:
    """Record these fields with the step, op and request under way: numbers as metrics, all else as texts. Raises nothing."""
    if _hearers:
        _tell("note", fields)


def save(name: str, value: object) -> None:
    """Record a tensor, or any value that holds some, under a name in the step under way, and its gradients. Raises nothing."""
    for hearer in tuple(_hearers):
        hearer.saved(name, value)


class timer:  # noqa: N801 - is read as a function: with timer("load"): …
    """Record how long what is within takes, in seconds, under a name. One object is for one `with` at a time."""

    __slots__ = ("_begun", "_name")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._begun = time.perf_counter_ns()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not _hearers:
            return
        fields: dict[str, object] = {self._name: (time.perf_counter_ns() - self._begun) / 1e9}
        _tell("timer", fields if kind is None else fields | {"raised": kind.__name__})


def _tell(kind: str, fields: Mapping[str, object]) -> None:
    now = time.time_ns()
    try:
        event = now, *body(kind, fields)
        for hearer in tuple(_hearers):
            hearer.told(event)
    except Exception as error:  # as in Guard: the program has done nothing wrong
        for hearer in tuple(_hearers):
            hearer.caught(kind, error)
