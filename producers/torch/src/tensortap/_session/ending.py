"""The end of a program, in the processes too that multiprocessing starts: these leave without Python's own exit handlers."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from multiprocessing import util


class Ending:
    """Calls a function as the process ends."""

    def __init__(self, ends: Callable[[], None]) -> None:
        self._ends = ends
        atexit.register(ends)
        self._of_multiprocessing = util.Finalize(None, ends, exitpriority=0)
        util.register_after_fork(self, Ending._again)

    def _again(self) -> None:
        """This is a child that multiprocessing has forked: it has forgotten what its parent does at its end."""
        if not self._forgotten:
            self._of_multiprocessing = util.Finalize(None, self._ends, exitpriority=0)

    _forgotten = False

    def forget(self) -> None:
        """The function is not called any more."""
        self._forgotten = True
        atexit.unregister(self._ends)
        self._of_multiprocessing.cancel()
