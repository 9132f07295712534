"""The record of a call together with its values, by one call of the C kernel where that takes all of them."""

from __future__ import annotations

from typing import Any

from tensortap._record.argument_trees import INPUT, OUTPUT, Walker
from tensortap._record.op_names import Op
from tensortap._record.tensor_rows import Observer
from tensortap._spool import layout
from tensortap._spool.spool import Spool


class CallRows:
    """Of calls whose values are to be written and nothing more. To be called as the walker is."""

    def __init__(self, spool: Spool, walker: Walker, observer: Observer) -> None:
        self._walker, self._observer = walker, observer
        self._opens, self._closes, self._current = observer.taker.opens, observer.taker.closes, spool.header.current
        self.takes = observer.taker.takes

    def opens(self, op: Op, parent: int, seq: int, micro_step: int, flags: int, values: tuple[Any, ...]) -> bool:
        """An op begins with these inputs. False where nothing is written yet: it is to be done step by step."""
        sites = op.places[INPUT]
        done = self._opens(self._current, op.id, parent, seq, op.stack, micro_step, flags, values, sites)
        if done is None:
            return False
        if done != len(values):
            self._rest(op, seq, INPUT, values, sites, done)
        return True

    def closes(self, op: Op, parent: int, seq: int, micro_step: int, values: tuple[Any, ...]) -> bool:
        """An op returns these. Whether it is written, too, that it has ended."""
        sites = op.places[OUTPUT]
        done = self._closes(op.id, parent, seq, op.stack, micro_step, layout.OP_ENDS, values, sites)
        if done is None:
            return False
        if done != len(values):
            self._rest(op, seq, OUTPUT, values, sites, done)
        return bool(done == len(values))

    def _rest(self, op: Op, seq: int, role: str, values: tuple[Any, ...], sites: list[int], done: int) -> None:
        done = self._observer.go_on(values, sites, done, seq)
        self._walker.rest(op, seq, role, values, sites, done)
