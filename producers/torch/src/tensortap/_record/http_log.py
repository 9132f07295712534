"""A file of the requests that a server got: a thread writes it, so that nobody who serves waits for a disk."""

from __future__ import annotations

import atexit
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

Line = Callable[[], Mapping[str, Any]]  # made in the thread that writes

VARIABLE: Final = "TENSORTAP_REQUESTS"  # folder, "keep" or nothing, further routes: a line each
ENDING: Final = ".requests"
_KNOWN: Final = frozenset(("/generate", "/v1/completions", "/v1/chat/completions"))
_MOST_WAITING: Final = 1024  # lines
_MOST_BYTES: Final = 512 << 20  # of a file; what stores it takes no larger one (MostBytes of producers/requests)
_LAST_WORDS_S: Final = 2.0


class HttpLog:
    """The file of this process, and of each one that is forked from it."""

    def __init__(self, asked: str) -> None:
        """Of what the launcher asks for."""
        folder, keep, routes = (*asked.split("\n"), "", "")[:3]
        self.keep = keep == "keep"
        self.routes = _KNOWN | frozenset(routes.split(",") if routes else ())
        self.lost = 0  # lines, since the last one that was written
        self._is_told = False  # that some are lost
        self._counting = threading.Lock()
        self._folder = folder
        self._waiting: queue.Queue[Line] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._pid, self._number = os.getpid(), 0

    def number(self) -> int:
        """The number of a request, in this process. The first one begins the file."""
        if os.getpid() != self._pid:  # what waited was the parent's
            self._pid, self._number, self.lost = os.getpid(), 0, 0
            self._waiting, self._thread, self._counting = queue.Queue(_MOST_WAITING), None, threading.Lock()
        if self._thread is None:
            thread = threading.Thread(target=self._write, name="tensortap requests", daemon=True)
            thread.start()  # raises where the system has no more threads; the next request tries again
            self._thread = thread
            atexit.register(self.flush)
        self._number += 1
        return self._number

    def put(self, line: Line) -> None:
        """Have a line written, or count that too many wait."""
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            self.lose(f"more than {_MOST_WAITING} lines wait for the disk")

    def lose(self, why: str, lines: int = 1) -> None:
        """Count lines that are not written. From any thread; the first loss is told."""
        with self._counting:
            self.lost += lines
            is_first, self._is_told = not self._is_told, True
        if is_first and sys.stderr is not None:
            print(f"tensortap: not all requests are recorded: {why}", file=sys.stderr)

    def flush(self, wait: float = _LAST_WORDS_S) -> None:
        """Write what waits, as a process ends."""
        thread, self._thread = self._thread, None
        if thread is not None and os.getpid() == self._pid:
            self.put(dict)
            thread.join(wait)

    def _write(self) -> None:
        """Write line after line, until one that is empty."""
        file, written, torn = -1, 0, b""
        while True:
            facts = self._made(self._waiting.get())
            if facts is None:
                continue
            if not facts:
                break
            lost = self.lost  # others may count meanwhile
            try:
                text = torn + self._text(facts, lost)
                if file < 0:
                    file = os.open(f"{self._folder}/{self._pid}{ENDING}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                if written + len(text) > _MOST_BYTES:
                    raise OSError("the file is as large as it may be")
                wrote = os.write(file, text)
                written, torn = written + wrote, b"" if wrote == len(text) else b"\n"
                with self._counting:
                    self.lost += -lost if wrote == len(text) else 1
            except OSError as error:
                self.lose(str(error))
        if file >= 0:
            os.close(file)

    def _made(self, line: Line) -> Mapping[str, Any] | None:
        try:
            return line()
        except Exception as error:  # as in Guard: whoever asked and whatever answered may say anything
            self.lose(f"{type(error).__name__}: {error}")
            return None

    def _text(self, facts: Mapping[str, Any], lost: int) -> bytes:
        return json.dumps({**facts, "pid": self._pid} | ({"lost": lost} if lost else {})).encode() + b"\n"


def of_environment() -> HttpLog | None:
    """The file that the launcher asks for."""
    asked = os.environ.get(VARIABLE)
    return HttpLog(asked) if asked else None
