"""Records of Python's logging go beside the spool, whole: with their fields, and the step and module under way."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

_MOST_BYTES: Final = 16 << 20  # of a file
_MOST_FILES: Final = 4  # of a process that no agent has read
_MOST_TEXT: Final = 64 << 10
_RETRY_S: Final = 1.0
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_REQUESTS: Final = ("request_id", "rid", "request")
_ENDING: Final = ".logging"

_quoted: Final = json.encoder.encode_basestring_ascii


class Where:
    """What is under way, as far as the thread knows: step, op."""

    def __init__(self, step: Callable[[], int], op: Callable[[], str]) -> None:
        self.step, self.op = step, op


class Logged:
    """Sees every record that a logger hands to its handlers, whatever these are, and changes nothing for them."""

    def __init__(self, spool: Path, head: Mapping[str, object], where: Where, caught: Callable[[str, Exception], None]) -> None:
        """The spool is the process's folder: files are beside it, and named like it."""
        self._spool, self._head, self._where, self._caught = spool, dict(head), where, caught
        self._file = self._number = self._size = -1
        self._retry = 0.0  # when it is looked again whether a file may begin
        self._lock = threading.Lock()
        self.dropped = 0
        self._original = logging.Logger.callHandlers
        original, take = self._original, self._take

        def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
            take(record)
            original(logger, record)

        self._installed = call_handlers

    def install(self) -> None:
        """See records from here on."""
        self._original = logging.Logger.callHandlers
        setattr(logging.Logger, "callHandlers", self._installed)  # noqa: B010 - a method, which types do not let one assign

    def close(self) -> None:
        """See no more. What others have wrapped stays in place, and sees nothing."""
        if logging.Logger.callHandlers is self._installed:
            setattr(logging.Logger, "callHandlers", self._original)  # noqa: B010 - as above
        file, self._file = self._file, -2
        if file >= 0:
            os.close(file)

    def _take(self, record: logging.LogRecord) -> None:
        if self._file == -2:
            return
        try:
            line = self._line(record).encode()
            with self._lock:
                self._write(line)
        except Exception as error:  # as in Guard: whoever logs has done nothing wrong
            self._caught("a record of logging", error)

    def _line(self, record: logging.LogRecord) -> str:
        fields = record.__dict__
        text = record.msg if not record.args and isinstance(record.msg, str) else record.getMessage()
        if len(text) > _MOST_TEXT:
            text = text[:_MOST_TEXT] + "…"
        line = (
            f'{{"t":{int(record.created * 1e9)},"l":{record.levelno},"n":{_quoted(record.name)},"m":{_quoted(text)},'
            f'"f":{_quoted(record.filename)},"i":{record.lineno},"s":{self._where.step()}'
        )
        if op := self._where.op():
            line += f',"o":{_quoted(op)}'
        if record.exc_info:
            line += f',"x":{_quoted(_exception(record))}'
        if not fields.keys() <= _OWN:
            extra = {name: _said(value) for name, value in fields.items() if name not in _OWN}
            line += f',"e":{json.dumps(extra)}'
            if request := next((extra[name] for name in _REQUESTS if name in extra), ""):
                line += f',"r":{_quoted(request)}'
        return line + "}\n"

    def _write(self, line: bytes) -> None:
        if self._size > _MOST_BYTES or (self._file == -1 and time.monotonic() >= self._retry):
            self._next_file()
        if self._file < 0:
            self.dropped += 1
            return
        os.write(self._file, line)
        self._size += len(line)

    def _next_file(self) -> None:
        """Begin a file, if not too many wait for an agent."""
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size, self._retry = -1, 0, time.monotonic() + _RETRY_S
        if len(list(self._spool.parent.glob(f"{self._spool.name}.*{_ENDING}"))) >= _MOST_FILES:
            return
        self._number += 1
        path = self._spool.parent / f"{self._spool.name}.{self._number}{_ENDING}"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        head = json.dumps(self._head | {"pid": os.getpid(), "dropped": self.dropped, "time_ns": time.time_ns()}) + "\n"
        self.dropped = 0
        self._size = os.write(self._file, head.encode())


def _exception(record: logging.LogRecord) -> str:
    kind, error, trace = record.exc_info or (None, None, None)
    if kind is None:
        return ""
    return "".join(traceback.format_exception(kind, error, trace))[:_MOST_TEXT].rstrip("\n")


def _said(value: object) -> str:
    return (value if isinstance(value, str) else repr(value))[:_MOST_TEXT]
