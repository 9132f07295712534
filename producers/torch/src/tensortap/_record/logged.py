"""Records of Python's logging go beside the spool, whole: with their fields, and the step and module under way."""

from __future__ import annotations

import json
import logging
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tensortap._record.noted import REQUEST_NAMES
from tensortap._record.user_events import Event
from tensortap._spool.record_files import Files

_MOST_TEXT: Final = 64 << 10
_MOST_PLACES: Final = 4096
_USUAL: Final = len(vars(logging.makeLogRecord({})))  # attributes of a record without fields of its own
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_quoted: Final = json.encoder.encode_basestring_ascii


class Logged:
    """Sees every record that a logger hands to its handlers, whatever these are, and changes nothing for them."""

    def __init__(self, spool: Path, head: Mapping[str, object], op: Callable[[], str], caught: Callable[[str, Exception], None]) -> None:
        """The spool is the process's folder: files are beside it, and named like it. The op is what the thread is within."""
        self._files = Files(spool, head)
        self._op, self._caught = op, caught
        self.step = -1  # the one under way
        self._lock = threading.RLock()  # a signal's handler may log, too
        self._closed = False
        self._places: dict[tuple[str, int, str, int], str] = {}
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
        with self._lock:
            self._closed = True
            self._files.close()
        self._restore()

    def event(self, event: Event, request: str) -> None:
        """Keep what the program says of itself by note and timer, of that request if of any."""
        time_ns, body, _ = event
        op = self._op()
        more = f',"o":{_quoted(op)}' if op else ""
        if request:
            more += f',"r":{_quoted(request)}'
        line = f'{{"t":{time_ns},"s":{self.step},{body}{more}}}\n'.encode()
        with self._lock:
            if not self._closed:
                self._files.write(line)

    def leave(self) -> None:
        """This is a child that was forked: the files are the parent's."""
        self._closed = True
        self._files.leave()
        self._restore()

    def _restore(self) -> None:
        if logging.Logger.callHandlers is self._installed:
            setattr(logging.Logger, "callHandlers", self._original)  # noqa: B010 - as above

    def _take(self, record: logging.LogRecord) -> None:
        if self._closed:
            return
        try:
            line = self._line(record)
            with self._lock:
                self._files.write(line)
        except Exception as error:  # as in Guard: whoever logs has done nothing wrong
            self._caught("a record of logging", error)

    def _line(self, record: logging.LogRecord) -> bytes:
        text = record.getMessage() if record.args else str(record.msg)
        if len(text) > _MOST_TEXT:
            text = text[:_MOST_TEXT] + "…"
        key = (record.name, record.levelno, record.filename, record.lineno)
        place = self._places.get(key) or self._new_place(key)
        op, more = self._op(), ""
        if op or record.exc_info or len(record.__dict__) != _USUAL:
            more = _more(record, op)
        return f'{{"t":{int(record.created * 1e9)},{place}"s":{self.step},"m":{_quoted(text)}{more}}}\n'.encode()

    def _new_place(self, key: tuple[str, int, str, int]) -> str:
        """What all records of one place in the program have in common."""
        name, level, file, number = key
        if len(self._places) >= _MOST_PLACES:
            self._places.clear()
        place = self._places[key] = f'"l":{level},"n":{_quoted(name)},"f":{_quoted(file)},"i":{number},'
        return place


def _more(record: logging.LogRecord, op: str) -> str:
    """What few records have."""
    text = f',"o":{_quoted(op)}' if op else ""
    if record.exc_info:
        text += f',"x":{_quoted(_exception(record))}'
    return text + _extra(record.__dict__)


def _extra(fields: Mapping[str, object]) -> str:
    extra = {name: _said(value) for name, value in fields.items() if name not in _OWN}
    if not extra:
        return ""
    request = next((extra[name] for name in REQUEST_NAMES if name in extra), "")
    return f',"e":{json.dumps(extra)}' + (f',"r":{_quoted(request)}' if request else "")


def _exception(record: logging.LogRecord) -> str:
    kind, error, trace = record.exc_info or (None, None, None)
    if kind is None:
        return ""
    return "".join(traceback.format_exception(kind, error, trace))[:_MOST_TEXT].rstrip("\n")


def _said(value: object) -> str:
    return (value if isinstance(value, str) else repr(value))[:_MOST_TEXT]
