"""Rows of what the program raised."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from tensortap._debug.asked import examine
from tensortap._record import failures
from tensortap._record.op_names import Names, Op
from tensortap._spool import layout
from tensortap._spool.spool import Spool

_TOLD: Final = "_tensortap_told"  # on an exception: it was told of the innermost op
_STOPPED_RECOMPUTATION: Final = "_StopRecomputationError"  # how checkpointing ends a recomputed forward early


class Raised:
    """Tells of errors, each once. To be called under the session's lock, but for `examine`."""

    def __init__(self, spool: Spool, names: Names, post_mortem: bool) -> None:
        self.spool, self.names, self._post_mortem = spool, names, post_mortem
        self.seq = 0

    def failed(
        self, op: Op, seq: int, path: str, error: BaseException, args: Iterable[object], kwargs: Mapping[str, object] | None
    ) -> None:
        """An op raised, within the module of that path or as that module; told once, of the innermost op."""
        if not getattr(error, _TOLD, False):
            self._failed(op.id, seq, path, error, failures.describe(error, args, kwargs))

    def raised(self, error: BaseException) -> None:
        """The program raised, which no op told of."""
        if not isinstance(error, SystemExit | GeneratorExit):
            self._failed(0, self.seq, "", error, failures.describe(error))

    def not_finite(self, op: Op, seq: int, path: str, kind: str, message: str, error: BaseException) -> None:
        """An op made values that are not finite, of which somebody asked to be told; the error is told of once, should it be raised."""
        setattr(error, _TOLD, True)
        texts = [self.spool.text(text) for text in (kind, failures.cut(message), "")]
        self.spool.write(layout.FAILURE_KIND, layout.FAILURE, op.id, seq, *texts, op.stack, time.time_ns(), self.spool.text(path))

    def examine(self, error: BaseException) -> None:
        """Let a person look where an op raised, if that is asked for. Not to be called with the lock: others go on meanwhile."""
        if self._post_mortem and getattr(error, _TOLD, False):
            examine(error)

    def _failed(self, op: int, seq: int, path: str, error: BaseException, said: tuple[str, str, str]) -> None:
        if getattr(error, _TOLD, False) or type(error).__name__ == _STOPPED_RECOMPUTATION:
            return
        with suppress(AttributeError):  # one that takes no attribute is told of each op that it passes
            setattr(error, _TOLD, True)
        texts = [self.spool.text(text) for text in said]
        stack = self.names.stacks.raised(error)
        self.spool.write(layout.FAILURE_KIND, layout.FAILURE, op, seq, *texts, stack, time.time_ns(), self.spool.text(path))
