"""A sign of life about once a second, from a thread that costs nothing and never keeps the process alive."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

INTERVAL_S: Final = 1.0


def debuggers_pass_over(thread: threading.Thread) -> None:
    """Let pydevd, below debugpy, neither trace nor stop a thread of ours: others count on its signs of life."""
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


class Heartbeat:
    """Calls beat about once a second between start and stop. After a fork the child's copy is silent until started."""

    def __init__(self, beat: Callable[[], None], failed: Callable[[Exception], None], interval_s: float = INTERVAL_S) -> None:
        """Failed hears of what beat raises; the next beat comes all the same."""
        self._beat, self._failed = beat, failed
        self._interval_s = interval_s
        self._ended: threading.Event | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def start(self) -> None:
        """Begin; in the process that began already, nothing."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._ended,), name="tensortap heartbeat", daemon=True)
        debuggers_pass_over(self._thread)
        self._thread.start()

    def stop(self) -> None:
        """End; once it returns, beat is not called again. May be called twice, and in a child that never started."""
        if self._pid != os.getpid() or self._ended is None or self._thread is None:
            return
        self._ended.set()
        self._thread.join()
        self._pid = 0

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(self._interval_s):
            try:
                self._beat()
            except Exception as error:  # as in Guard: without beats the process counts as dead
                self._failed(error)
