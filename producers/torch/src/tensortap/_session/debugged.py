"""A rank and its debugger: it listens from the start or on request, and says when a person holds it up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from tensortap._config.settings import Settings
from tensortap._debug import launched, listening, standing
from tensortap._hooks import group_timeout
from tensortap._session.inbox import Asked
from tensortap._spool import layout
from tensortap._spool.spool import Spool

_CATCHING_UP_S: Final = 15.0  # the others waited as long as the person looked: no hang until they had time to go on
_IN_WORDS: Final = {standing.WAITING: "waits for a debugger", standing.ATTACHED: "is in a debugger", standing.AT_PROMPT: "stands at the prompt of pdb"}


class Debugged:
    """Follows requests for a debugger, and says whether one holds the process up."""

    def __init__(self, settings: Settings, rank: int, spool: Spool, answer: Callable[..., None], say: Callable[[str], None]) -> None:
        """Answers are as those of an Inbox."""
        self._asked = launched.Asked(ranks=settings.debug, first_port=settings.debug_port, wait_s=settings.debug_wait)
        self._rank, self._spool, self._answer, self._say = rank, spool, answer, say
        self._standing = (0, 0)
        self._over_at = 0.0

    def begin(self) -> None:
        """The rank is known now. One that a debugger is to attach to waits here, unless it did at its start."""
        launched.enter(self._asked, self._rank)

    def follow(self, asked: Asked) -> None:
        """Listen from a thread of its own, which answers: the one that calls is to beat on."""
        port = json.loads(asked.text).get("port")
        first = port if isinstance(port, int) else self._asked.first_port
        listening.in_background(first + self._rank, partial(self._tell_where, asked.sequence))

    def beat(self) -> None:
        """From the thread of the heartbeat, about once a second."""
        if listening.port():
            told = standing.begins if listening.is_attached() else standing.ends
            told(standing.ATTACHED)
        if standing.now() != self._standing:
            self._tell(*standing.now())
        if self._over_at and time.monotonic() > self._over_at:
            self._over_at = 0.0
            self._spool.header.debugged(0, 0)

    def _tell_where(self, sequence: int, port: int, why: str) -> None:
        outcome, text = (layout.REFUSED, why) if why else (layout.LISTENING, f"{listening.HOST}:{port}")
        self._answer(sequence, outcome, 0, text)

    def _tell(self, kind: int, since_ns: int) -> None:
        before, self._standing = self._standing, (kind, since_ns)
        if kind:
            self._over_at = 0.0
            self._spool.header.debugged(kind, since_ns)
        else:
            self._over_at = time.monotonic() + _CATCHING_UP_S
        if kind and kind != before[0]:
            since = time.strftime("%H:%M:%S UTC", time.gmtime(since_ns / 1e9))
            self._say(f"{_IN_WORDS[kind]} since {since}; hangs are not told meanwhile{group_timeout.in_words()}")
        elif not kind:
            self._say(f"goes on without a debugger, after {(time.time_ns() - before[1]) / 1e9:.0f} s")
