"""All that is asked of a process from without, and who follows it: as a step begins, or the thread of the heartbeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tensortap._config.settings import Settings
from tensortap._session.control import Control, Detail
from tensortap._session.debugged import Debugged
from tensortap._session.inbox import PROFILE, TELL, TRACE, Asked, Inbox
from tensortap._session.moments import Moment
from tensortap._session.tracing import Told, Tracing
from tensortap._spool import layout
from tensortap._spool.spool import Spool

Say = Callable[[str], None]
Caught = Callable[[str, Exception], None]


class Demands:
    """Of one process."""

    def __init__(
        self, settings: Settings, rank: int, spool: Spool, modules: Callable[[], Sequence[str]], say: Say, told: Told, caught: Caught
    ) -> None:
        """The modules are paths; told hears of files that are written, caught of errors of ours."""
        self._caught = caught
        self._inbox = Inbox(spool.control)
        self._idle: frozenset[int] = frozenset()  # requests that waited for a step at the last beat, between two
        self._tracing = Tracing(self._inbox.answer, spool.folder.name, f"rank {rank}", told)
        self._debugged = Debugged(settings, rank, spool, self._inbox.answer, say)
        self.control = Control(self._inbox.answer, say, modules)

    def begin(self) -> None:
        """The rank is known now, and the heart beats: a debugger may be waited for, for minutes."""
        self._debugged.begin()

    def step_begins(self, moment: Moment) -> Detail | None:
        """Follow what waits for a step. The detail that this one is recorded with, if with any."""
        for asked in self._inbox.for_step():
            if asked.do == PROFILE:
                self._follow(asked, partial(self._tracing.follow, step=moment.step))
            else:
                self._follow(asked, partial(self.control.follow, moment=moment))
        detail = self.control.next_step(moment)
        self._tracing.step_begins(moment.step)
        return detail

    def beat(self, step: int) -> None:
        """From the thread of the heartbeat, about once a second, in that step or, with -1, between two."""
        for asked in self._inbox.for_heartbeat():
            by_kind: dict[str, Callable[[Asked], None]] = {TRACE: partial(self._tracing.follow, step=max(step, 0)), TELL: self.control.told}
            self._follow(asked, by_kind.get(asked.do, self._debugged.follow))
        self._arm(step)
        self._debugged.beat()

    def _arm(self, step: int) -> None:
        """Nobody need wait for a step of a server that no request comes to: what waits from one beat to the next, and no step began, is told so."""
        waiting = self._inbox.waiting() if step < 0 else ()
        for asked in waiting:
            if asked.sequence in self._idle and self.control.can_follow(asked):
                self._inbox.arm(asked)
        self._idle = frozenset(asked.sequence for asked in waiting)

    def end(self) -> None:
        """The tap ends, and its spool after this."""
        try:
            self._tracing.end()
        finally:
            self._inbox.close()

    def leave(self) -> None:
        """This is a child that was forked."""
        self._inbox.leave()
        self._tracing.leave()

    def _follow(self, asked: Asked, follow: Callable[[Asked], None]) -> None:
        try:
            follow(asked)
        except Exception as error:  # as in Guard: whoever asked waits for an answer, and the step is recorded
            self._inbox.answer(asked.sequence, layout.REFUSED, 0, f"an error of the collector: {type(error).__name__}: {error}")
            self._caught("a request", error)
