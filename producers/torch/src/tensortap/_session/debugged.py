"""A rank and its debugger: it listens from the start or on request, and says when a person holds it up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tensortap._config.settings import Settings
from tensortap._debug import launched, listening, standing
from tensortap._hooks import group_timeout
from tensortap._spool import layout
from tensortap._spool.control_page import asked_for
from tensortap._spool.spool import Spool

DO: Final = "debug"
_CATCHING_UP_S: Final = 15.0  # the others waited as long as the person looked: no hang until they had time to go on
_IN_WORDS: Final = {standing.WAITING: "waits for a debugger", standing.ATTACHED: "is in a debugger", standing.AT_PROMPT: "stands at the prompt of pdb"}


class Debugged:
    """What the heartbeat looks at: requests for a debugger, and whether one holds the process up."""

    def __init__(self, settings: Settings, rank: int, spool: Spool, say: Callable[[str], None]) -> None:
        self._asked = launched.Asked(ranks=settings.debug, first_port=settings.debug_port, wait_s=settings.debug_wait)
        self._rank, self._spool, self._say = rank, spool, say
        self._sequence = 0
        self._standing = (0, 0)
        self._over_at = 0.0

    def begin(self) -> None:
        """The rank is known now. One that a debugger is to attach to waits here, unless it did at its start."""
        launched.enter(self._asked, self._rank)

    def is_meant(self, sequence: int, text: bytes) -> bool:
        """Whether this request, which is met as a step begins, is for the thread of the heartbeat, which also comes to it in a process that hangs."""
        if asked_for(text, DO) is not None:
            return True
        self._sequence = sequence  # or one that comes again after this one would not be new
        return False

    def beat(self) -> None:
        """From the thread of the heartbeat, about once a second."""
        page = self._spool.control
        if page.sequence() != self._sequence:
            self._look()
        if listening.port():
            told = standing.begins if listening.is_attached() else standing.ends
            told(standing.ATTACHED)
        if standing.now() != self._standing:
            self._tell(*standing.now())
        if self._over_at and time.monotonic() > self._over_at:
            self._over_at = 0.0
            self._spool.debugged(0, 0)

    def _look(self) -> None:
        request = self._spool.control.request()
        if request is None:
            return
        self._sequence, text = request
        if asked := asked_for(text, DO):
            port = asked.get("port")
            first = port if isinstance(port, int) else self._asked.first_port
            sequence = self._sequence
            listening.in_background(first + self._rank, lambda at, why: self._answer(sequence, at, why))

    def _answer(self, sequence: int, port: int, why: str) -> None:
        outcome, text = (layout.REFUSED, why) if why else (layout.LISTENING, f"{listening.HOST}:{port}")
        self._spool.control.answer(sequence, outcome, 0, text)

    def _tell(self, kind: int, since_ns: int) -> None:
        before, self._standing = self._standing, (kind, since_ns)
        if kind:
            self._over_at = 0.0
            self._spool.debugged(kind, since_ns)
        else:
            self._over_at = time.monotonic() + _CATCHING_UP_S
        if kind and kind != before[0]:
            since = time.strftime("%H:%M:%S UTC", time.gmtime(since_ns / 1e9))
            self._say(f"{_IN_WORDS[kind]} since {since}; hangs are not told meanwhile{group_timeout.in_words()}")
        elif not kind:
            self._say(f"goes on without a debugger, after {(time.time_ns() - before[1]) / 1e9:.0f} s")
