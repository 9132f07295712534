"""Rows of what the program raised."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from typing import Final

from tensortap._debug.asked import examine
from tensortap._record import failures
from tensortap._record.op_names import Names, Op
from tensortap._spool import layout
from tensortap._spool.spool import Spool

_STOPPED_RECOMPUTATION: Final = "_StopRecomputationError"  # how checkpointing ends a recomputed forward early


class Told:
    """Exceptions that were told of, with nothing on them, and none kept alive: by their ids, as long as each has come further at every look."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[type, int]] = {}

    def add(self, error: BaseException) -> None:
        """It was told of."""
        self.known[id(error)] = type(error), _frames(error)

    def has(self, error: BaseException) -> bool:
        """Whether it was; another that has its id since was raised anew, and has passed no more frames."""
        kind, frames = self.known.get(id(error), (None, 0))
        return kind is type(error) and _frames(error) >= frames

    def go_on(self) -> None:
        """An op begins: unless an exception is being handled, those are over."""
        if sys.exc_info()[1] is None:
            self.known.clear()


def _frames(error: BaseException) -> int:
    trace, count = error.__traceback__, 0
    while trace is not None:
        trace, count = trace.tb_next, count + 1
    return count


class Raised:
    """Tells of errors, each once. To be called under the session's lock, but for `examine`."""

    def __init__(self, spool: Spool, names: Names, post_mortem: bool) -> None:
        self.spool, self.names, self._post_mortem = spool, names, post_mortem
        self.seq = 0
        self.told = Told()

    def failed(
        self, op: Op, seq: int, path: str, error: BaseException, args: Iterable[object], kwargs: Mapping[str, object] | None
    ) -> None:
        """An op raised, within the module of that path or as that module; told once, of the innermost op."""
        if not self.told.has(error):
            self._failed(op.id, seq, path, error, failures.describe(error, args, kwargs))

    def raised(self, error: BaseException) -> None:
        """The program raised, which no op told of."""
        if not isinstance(error, SystemExit | GeneratorExit):
            self._failed(0, self.seq, "", error, failures.describe(error))

    def not_finite(self, op: Op, seq: int, path: str, kind: str, message: str, error: BaseException) -> None:
        """An op made values that are not finite, of which somebody asked to be told; the error is told of once, should it be raised."""
        self.told.add(error)
        texts = [self.spool.text(text) for text in (kind, failures.cut(message), "")]
        self.spool.write(layout.FAILURE_KIND, layout.FAILURE, op.id, seq, *texts, op.stack, time.time_ns(), self.spool.text(path))

    def examine(self, error: BaseException) -> None:
        """Let a person look where an op raised, if that is asked for. Not to be called with the lock: others go on meanwhile."""
        if self._post_mortem and self.told.has(error):
            examine(error)

    def _failed(self, op: int, seq: int, path: str, error: BaseException, said: tuple[str, str, str]) -> None:
        if self.told.has(error) or type(error).__name__ == _STOPPED_RECOMPUTATION:
            return
        self.told.add(error)
        texts = [self.spool.text(text) for text in said]
        stack = self.names.stacks.raised(error)
        self.spool.write(layout.FAILURE_KIND, layout.FAILURE, op, seq, *texts, stack, time.time_ns(), self.spool.text(path))
