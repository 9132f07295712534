"""Writes the spool of one process, as SPOOL.md says. Every call is made under the session's lock, but for heartbeat."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tensortap._spool import layout
from tensortap._spool.control_page import ControlPage
from tensortap._spool.cursor import AT, END, TENSORS, THIN, Cursor
from tensortap._spool.definitions import Definitions
from tensortap._spool.folder import SpoolError, make_root, take_agents_room
from tensortap._spool.header import Header
from tensortap._spool.segments import Ring, Segment
from tensortap._spool.thinned import MOST_ROWS, ROW, Aside, matters
from tensortap._spool.writers import BY_PYTHON, Writers
from tensortap._spool.written import Written, commit, commit_again

_HEAD: Final = struct.Struct("<IIII")


class Spool:
    """Rows and definitions of one process. What finds no room is dropped and counted."""

    def __init__(self, root: Path, *, segments: int = 64, segment_rows: int = layout.SEGMENT_ROWS) -> None:
        self._limit, self._rows_per_segment = segments, segment_rows
        self.epoch = int.from_bytes(os.urandom(8), "little") >> 1 | 1
        self.folder = root / f"{os.getpid()}-{self.epoch:016x}"
        make_root(root)
        try:
            self.folder.mkdir(mode=0o700)
            take_agents_room(self.folder)
            self.header = Header(self.folder)
        except OSError as error:
            raise SpoolError(f"make the spool {self.folder}: {error}; set TENSORTAP_SPOOL to a folder with room") from error
        self.control = ControlPage(self.header)
        self._definitions = Definitions(self.folder / "definitions")
        self._ring = Ring(self.folder, self.epoch, segment_rows, ROW)
        self._aside = Aside()
        self._segment: Segment | None = None
        self.cursor = Cursor()
        self._next = self.cursor.words
        self.dropped = 0
        self.write_by(BY_PYTHON)
        self.place = 0  # of the rows reserved last
        self.header.begin(self.epoch, segment_rows)

    def define(self, kind: str, fields: Mapping[str, object]) -> int:
        """The local id of a definition; 0 when it cannot be written."""
        return self._definitions.define(kind, dict(fields))

    def refuse(self, kind: str) -> None:
        """Count a definition that is not made, as there are too many."""
        self._definitions.refused[kind] += 1

    def refused(self) -> list[tuple[str, int]]:
        """How many definitions of each kind were refused since the last call."""
        counts = list(self._definitions.refused.items())
        self._definitions.refused.clear()
        return counts

    def text(self, text: str) -> int:
        """The local id of a text; 0 for the empty one."""
        return self._definitions.define("text", {"text": text}) if text else 0

    def write_by(self, writers: Writers) -> None:
        """Write the most frequent records by these from here on."""
        self._write_op, self._write_again, self._write_number = writers.op, writers.again, writers.number

    def op(self, op: int, parent: int, seq: int, stack: int, micro_step: int, flags: int) -> bool:
        """A record that an op begins or ends, committed at once. An op that begins is the current one."""
        at, current = self._next[AT], 0 if flags == layout.OP_ENDS else self.header.current
        if at >= self._next[END]:
            at = self._room()
            if at < 0:
                self.header.begins(op, seq) if current else None
                return False
        segment = self._segment
        assert segment is not None
        self._write_op(segment.address + at, current, op, parent, seq, stack, micro_step, flags, segment.place)
        self._next[AT] = at + ROW
        return True

    def reserve(self, wait: bool = True) -> int:
        """The address of MOST_ROWS zeroed rows for one tensor; 0 when it is dropped, or must wait.

        Without wait the rows may be written until step_ends is called for the step.
        """
        if self._next[AT] + MOST_ROWS * ROW > self._next[END] and self._room() < 0:
            return 0
        if self._is_thin():
            return self._aside.reserve(wait)
        segment = self._segment
        assert segment is not None
        return segment.address + self._next[AT]

    def advance(self, rows: int) -> Written | None:
        """So many of the reserved rows are a tensor's. Where they are, until the end of the step; None when they were dropped or wait."""
        if self._next[THIN]:
            content = self._aside.take(rows)
            return None if content is None else self.keep(content)
        if self._segment is None:
            return None
        at = self._next[AT]
        self.cursor.add(rows, at, ROW)
        return self._segment, at, rows

    def measured(self, measure: Callable[[int, int, int, int, int], int], data: int, site: int, seq: int) -> Written | None:
        """The rows of a tensor whose elements begin at `data`, which `measure` writes at once; as reserve and advance.

        It is given the elements, the address of the rows, site, seq and place, and returns how many rows it wrote.
        """
        at, segment = self._next[AT], self._segment
        if self._next[THIN] or segment is None or at + MOST_ROWS * ROW > self._next[END]:
            address = self.reserve()
            return self.advance(measure(data, address, site, seq, self.place)) if address else None
        rows = measure(data, segment.address + at, site, seq, segment.place)
        self.cursor.add(rows, at, ROW)
        return segment, at, rows

    @property
    def tensors(self) -> int:
        """How many rows of tensors and other arguments were written."""
        return self._next[TENSORS]

    def renews(self) -> bool:
        """Whether there was no room for a tensor, and there is in another segment."""
        has_room = self._next[THIN] or self._next[AT] + MOST_ROWS * ROW <= self._next[END]
        return not has_room and self._turns() and not self._next[THIN]

    @property
    def must_wait(self) -> bool:
        """Whether rows that are written later find no memory until those before them are written, and keep_what_matters is called."""
        return self.cursor.is_thin and self._aside.is_full

    @property
    def is_full(self) -> bool:
        """Whether all that is written takes room from what matters most."""
        return self.cursor.is_thin

    @property
    def has_waiting(self) -> bool:
        """Whether there are rows to be written later, of which keep_what_matters must decide before the step ends."""
        return self._aside.has_waiting

    def keep_what_matters(self) -> None:
        """Rows that were to be written later are: those of tensors with a value that is not finite are kept, others if there is room again."""
        for content in self._aside.drain():
            self.keep(content)

    def keep(self, content: memoryview) -> Written | None:
        """Move a tensor's rows into the segment, unless they are dropped."""
        size = len(content)
        if self._next[THIN] and not matters(content):
            self.dropped += 1
            return None
        at = self._next[AT] if self._next[AT] + size <= self._next[END] else self._room()
        segment = self._segment
        if at < 0 or segment is None:
            return None
        segment.bytes[at + ROW : at + size] = content[ROW:].tobytes()
        commit_again(segment, at + ROW, at + size)
        segment.bytes[at : at + layout.COMMIT_OFFSET] = content[: layout.COMMIT_OFFSET].tobytes()
        commit(segment, at, layout.TENSOR_KIND)
        self.cursor.add(size // ROW, at, ROW)
        return segment, at, size // ROW

    def literal(self, site: int, layout_id: int, seq: int) -> None:
        """The row of an argument that is no tensor."""
        segment, at = self._one_row(site, layout_id)
        if segment is not None:
            _HEAD.pack_into(segment.bytes, at, site, layout_id, seq, layout.LITERAL)
            commit(segment, at, layout.TENSOR_KIND)
            self.cursor.add(1, at, ROW)

    def number(self, site: int, layout_id: int, whole: int, real: float, seq: int) -> None:
        """The row of an argument that is a number, an int or a float as its layout says."""
        segment, at = self._one_row(site, layout_id)
        if segment is not None:
            self._write_number(segment.address + at, site, layout_id, seq, segment.place, whole, real)
            self.cursor.add(1, at, ROW)

    def _one_row(self, site: int, layout_id: int) -> tuple[Segment | None, int]:
        at = self._next[AT] if self._next[AT] < self._next[END] else self._room()
        if at < 0 or self._next[THIN] or not site or not layout_id:
            self.dropped += at >= 0
            return None, at
        return self._segment, at

    def again(self, written: Written, site: int, layout_id: int, seq: int) -> None:
        """Write rows of this step again, for another site."""
        source, begin, rows = written
        at = self._next[AT] if self._next[AT] + rows * ROW <= self._next[END] else self._room()
        if at < 0 or self._next[THIN] or not site or not source.address:
            self.dropped += at >= 0
            return
        segment = self._segment
        assert segment is not None
        self._write_again(source.address + begin, segment.address + at, rows, site, layout_id, seq, segment.place)
        self.cursor.add(rows, at, ROW)

    def write(self, kind: int, record: struct.Struct, *values: float) -> bool:
        """A record of another kind, committed at once."""
        held = self.hold(record, *values)
        if held is not None:
            commit(held[0], held[1], kind)
        return held is not None

    def hold(self, record: struct.Struct, *values: float) -> Written | None:
        """A record in its place, at which readers stop until it is committed; None when there is no room."""
        at = self._next[AT] if self._next[AT] < self._next[END] else self._room()
        if at < 0:
            return None
        segment = self._segment
        assert segment is not None
        record.pack_into(segment.bytes, at, *values)
        self._next[AT] = at + ROW
        return segment, at, 1

    def step(self, step: int) -> None:
        """The step under way, in the header."""
        self.header.step(step)

    def step_ends(self, held: Written | None) -> None:
        """Nothing is pending on rows before this one, which says that a step has ended: it is committed."""
        if held is not None:
            commit(held[0], held[1], layout.STEP_KIND)
            self._ring.unmap_retired(held[0])
        self.header.dropped(self.dropped)

    def heartbeat(self) -> bool:
        """The process lives. Whether an agent has looked lately. May be called by any thread until close."""
        return self.header.beat()

    def close(self) -> None:
        """The process ends its spool in order; what is pending must be complete."""
        self.header.dropped(self.dropped)
        self.header.end()
        self.abandon()

    def abandon(self) -> None:
        """Release what this process holds without a word on file, as a child does after a fork."""
        self._ring.unmap_retired()
        if self._segment:
            self._segment.close()
            self._segment = None
        self._definitions.close()
        self.header.close()
        self.cursor.turn(0, 0, 0)

    def _room(self) -> int:
        """The place of rows in a segment after this one; -1 when there is none, and the drop is counted."""
        if not self._turns():
            self.dropped += 1
            return -1
        return 0

    def _turns(self) -> bool:
        """To a segment after this one, if there can be one."""
        segment = self._next_segment()
        if segment is None:
            return False
        if self._segment:
            self._pad(self._segment)
            self._ring.retire(self._segment)
        self._segment, self.place = segment, segment.place
        self.cursor.turn(segment.address, self._rows_per_segment * ROW, segment.place)
        self.header.segments(self._ring.first, self._ring.next)
        self.header.dropped(self.dropped)
        return True

    def _next_segment(self) -> Segment | None:
        looked = self._look_at_agent()
        kept = self._ring.next - self._ring.first
        if kept < self._limit:
            self._next[THIN] = 0
        elif not looked:
            self.header.segments(self._ring.first + 1, self._ring.next)  # before it is gone: else it counts as missing
            self._ring.give_up_oldest()
            self.dropped += self._rows_per_segment
            self._next[THIN] = 0
        elif kept == self._limit:
            self._next[THIN] = 1  # one segment in reserve, for what matters most
        else:
            return None
        return self._ring.make()

    def _look_at_agent(self) -> bool:
        """Take in what the agent has released. Whether one has looked lately."""
        self._ring.released(self.header.released())
        return self.header.agent_looks()

    def _pad(self, segment: Segment) -> None:
        for at in range(self._next[AT], self._next[END], ROW):
            commit(segment, at, layout.PAD_KIND)

    def _is_thin(self) -> bool:
        """Whether rows go aside first. It is asked before they do, and not while they are there."""
        if self._next[THIN]:
            self._look_at_agent()
            self._next[THIN] = self._ring.next - self._ring.first >= self._limit
        return self.cursor.is_thin
