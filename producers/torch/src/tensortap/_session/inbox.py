"""The one reader of the page on which an agent asks: each request goes to the thread that follows its kind, and one answer at a time goes back."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from tensortap._spool import layout
from tensortap._spool.control_page import ControlPage

TRACE: Final = "trace"
DEBUG: Final = "debug"
PROFILE: Final = "profile"
TELL: Final = "tell"
_OF_HEARTBEAT: Final = frozenset((TRACE, DEBUG, TELL))  # kinds that are followed in a program that hangs, too, and isForHeartbeat of producers/agent has
_MOST_WAITING: Final = 16
_MOST_KNOWN: Final = 256


class Asked(NamedTuple):
    """One request."""

    sequence: int
    do: str  # its kind; empty where it has none
    text: bytes


class Answer(NamedTuple):
    """What becomes of one."""

    outcome: int
    step: int
    text: str


class Inbox:
    """Each request is handed out once. One that comes again is answered again: the page has room for one answer, and another took that."""

    def __init__(self, page: ControlPage) -> None:
        self._page = page
        self._lock = threading.Lock()
        self._seen = 0  # the request that was read last
        self._for_step: list[Asked] = []
        self._for_heartbeat: list[Asked] = []
        self._known: OrderedDict[int, Answer | None] = OrderedDict()  # by sequence; None: not answered yet
        self._is_closed = False

    def for_step(self) -> Sequence[Asked]:
        """What is to be followed as a step begins, in the order in which it was asked."""
        return self._take(self._for_step)

    def for_heartbeat(self) -> Sequence[Asked]:
        """What the thread of the heartbeat is to follow."""
        return self._take(self._for_heartbeat)

    def answer(self, sequence: int, outcome: int, step: int, text: str = "") -> None:
        """Say what becomes of a request, by any thread. Whoever asked an older one than the newest asks again, and hears it then."""
        with self._lock:
            self._keep(sequence, Answer(outcome, step, text))
            if not self._is_closed and sequence == self._page.sequence():
                self._write(sequence)

    def waiting(self) -> Sequence[Asked]:
        """What is to be followed as a step begins, and none has begun since."""
        with self._lock:
            return tuple(self._for_step)

    def arm(self, asked: Asked) -> None:
        """Say of a request that still waits that it will be followed."""
        with self._lock:
            if asked in self._for_step:
                self._keep(asked.sequence, Answer(layout.AWAITING, 0, ""))
                if not self._is_closed and asked.sequence == self._page.sequence():
                    self._write(asked.sequence)

    def close(self) -> None:
        """The page is about to go: no thread writes into it any more."""
        with self._lock:
            self._is_closed = True

    def leave(self) -> None:
        """In a child that was forked: the page is the parent's, and a thread that only that one has may hold the lock."""
        self._lock = threading.Lock()
        self.close()

    def _take(self, waiting: list[Asked]) -> Sequence[Asked]:
        if not waiting and self._page.sequence() == self._seen:
            return ()
        with self._lock:
            self._look()
            taken = tuple(waiting)
            waiting.clear()
        return taken

    def _look(self) -> None:
        request = None if self._is_closed or self._page.sequence() == self._seen else self._page.request()
        if request is None:  # there is none, or it is being written, and looked at again
            return
        self._seen, text = request
        if self._seen in self._known:
            self._write(self._seen)
        else:
            self._sort(Asked(self._seen, _kind(text), text))

    def _sort(self, asked: Asked) -> None:
        waiting = self._for_heartbeat if asked.do in _OF_HEARTBEAT else self._for_step
        if len(waiting) < _MOST_WAITING:
            waiting.append(asked)
            self._keep(asked.sequence, None)
        else:
            self._keep(asked.sequence, Answer(layout.REFUSED, 0, f"{_MOST_WAITING} requests wait already: ask again when the program has gone on"))
            self._write(asked.sequence)

    def _keep(self, sequence: int, answer: Answer | None) -> None:
        self._known[sequence] = answer
        self._known.move_to_end(sequence)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def _write(self, sequence: int) -> None:
        answer = self._known[sequence]
        if answer is not None and not self._is_closed:
            self._page.answer(sequence, *answer)


def _kind(text: bytes) -> str:
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    do = request.get("do") if isinstance(request, dict) else None
    return do if isinstance(do, str) else ""
