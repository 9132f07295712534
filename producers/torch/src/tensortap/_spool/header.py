"""The header of a spool: what a process says of itself to its agent, and what it sees of that one."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tensortap._spool import layout
from tensortap._spool.segments import Segment
from tensortap._spool.writers import CURRENT

_AGENT: Final = struct.Struct("<QI")
_CURRENT_CALL: Final = layout.HEADER_CURRENT_CALL // 4
_U64: Final = struct.Struct("<Q")
_AGENT_AWAY_S: Final = 10.0
_RUNNING: Final = 1
_ENDED: Final = 2


class Header(Segment):
    """One page, mapped and locked as long as the process lives. Threads may write into it until it is closed."""

    def __init__(self, folder: Path) -> None:
        """Make it, empty. Raises OSError."""
        super().__init__(folder / "header", layout.HEADER_BYTES, locked=True)
        self._look_ns, self._looked_at = 0, -_AGENT_AWAY_S  # the agent's last look by its clock, and when it was new here by ours

    def begin(self, epoch: int, segment_rows: int) -> None:
        """The spool is there."""
        now = time.time_ns()
        fields = (layout.MAGIC, layout.VERSION, _RUNNING, os.getpid(), epoch, now, now, 0, 0, 0, 0, segment_rows, 0, 0, 0, 0, 0, 0, 0)
        content = layout.HEADER.pack(*fields)
        self.bytes[8 : len(content)] = content[8:]
        self.bytes[:8] = layout.MAGIC  # last: what has the magic has the rest

    def end(self) -> None:
        """The process ends its spool in order."""
        self.words[layout.HEADER_STATE >> 2] = _ENDED

    def step(self, step: int) -> None:
        """The step under way."""
        self.words[layout.HEADER_STEP >> 2] = step

    def idle(self, since_ns: int) -> None:
        """No step is under way since then or, with 0, one is."""
        _U64.pack_into(self.bytes, layout.HEADER_IDLE_SINCE_NS, since_ns)

    def segments(self, first: int, following: int) -> None:
        """Which there are: the first that is not given up, and the one after the last."""
        self.words[layout.HEADER_FIRST_SEGMENT >> 2] = first
        self.words[layout.HEADER_NEXT_SEGMENT >> 2] = following

    def dropped(self, count: int) -> None:
        """Records that found no room."""
        _U64.pack_into(self.bytes, layout.HEADER_DROPPED_COUNT, count)

    def debugged(self, kind: int, since_ns: int) -> None:
        """A person holds the process up since then, or, with 0, nobody does."""
        _U64.pack_into(self.bytes, layout.HEADER_DEBUGGED_SINCE_NS, since_ns)
        self.words[layout.HEADER_DEBUGGED >> 2] = kind

    def beat(self) -> bool:
        """The process lives. Whether an agent has looked lately."""
        _U64.pack_into(self.bytes, layout.HEADER_HEARTBEAT_NS, time.time_ns())
        return self.agent_looks()

    def beginner(self) -> Callable[[int, int], None]:
        """What tells that an op begins which is not recorded by itself: its id, and that of the definition of its call."""
        page, words, pack, now = self.bytes, self.words, CURRENT.pack_into, time.time_ns
        at, current_call = layout.HEADER_CURRENT_TIME_NS, _CURRENT_CALL

        def begins(op: int, call: int) -> None:  # a function of its own, since it is called for each op
            pack(page, at, now(), op, 0)
            words[current_call] = call

        return begins

    @property
    def current(self) -> int:
        """Where it says which op is under way."""
        return self.address + layout.HEADER_CURRENT_TIME_NS

    def begins(self, op: int, seq: int) -> None:
        """An op is under way of which no record is written."""
        CURRENT.pack_into(self.bytes, layout.HEADER_CURRENT_TIME_NS, time.time_ns(), op, seq)

    def released(self) -> int:
        """The first segment that the agent has not deleted."""
        _, released = _AGENT.unpack_from(self.bytes, layout.AGENT_OFFSET)
        return int(released)

    def agent_looks(self) -> bool:
        """Whether an agent has looked lately. That its time has changed says so, since its clock may be hours from ours."""
        (look_ns,) = _U64.unpack_from(self.bytes, layout.AGENT_OFFSET)
        if look_ns != self._look_ns:
            self._look_ns, self._looked_at = look_ns, time.monotonic()
        return bool(look_ns) and time.monotonic() - self._looked_at < _AGENT_AWAY_S
