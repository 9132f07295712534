"""What the program says of itself, as a tap hears it: with the step, op and request under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from tensortap._record import user_events
from tensortap._record.served_requests import Request
from tensortap._record.user_events import MOST_EARLY, Event

MOST_NAME: Final = 200  # characters of what the program calls a value that it saves


class Writer(Protocol):
    """Where events go, once the rank is known."""

    def write_event(self, event: Event, request: str) -> None:
        """Write an event of that request, if of any."""


class Telling:
    """Hears for one tap, from its beginning to its end. What is said before its first step is kept for it."""

    def __init__(
        self, save: Callable[[object, str], None], served: Callable[[], Sequence[Request]], caught: Callable[[str, Exception], None]
    ) -> None:
        self._save, self._served, self._caught = save, served, caught
        self._early: list[Event] = []
        self._writer: Writer | None = None

    def begin(self) -> None:
        """Hear from here on."""
        self._early += user_events.hear(self)

    def write_with(self, writer: Writer | None) -> None:
        """Write with this from here on, and what was kept for it; with None, in a child that was forked, begin anew."""
        early, self._early, self._writer = self._early, [], writer
        if writer is not None:
            for event in early:
                writer.write_event(event, event[2])

    def end(self) -> None:
        """Hear no more."""
        user_events.hear_no_more(self)
        self._writer = None

    def told(self, event: Event) -> None:
        """The program says something."""
        writer = self._writer
        if writer is not None:
            writer.write_event(event, event[2] or self._only_request())
        elif len(self._early) < MOST_EARLY:
            self._early.append(event)

    def saved(self, name: str, value: object) -> None:
        """The program gives a value to be recorded."""
        self._save(value, name)

    def caught(self, place: str, error: Exception) -> None:
        """An error of ours, which the program does not see."""
        self._caught(place, error)

    def _only_request(self) -> str:
        """The request that the step under way serves, if it serves one alone."""
        served = self._served()
        return served[0].name if len(served) == 1 else ""
