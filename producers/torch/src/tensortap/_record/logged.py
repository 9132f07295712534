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
from tensortap._spool.writers import BY_PYTHON, Writers

_MOST_TEXT: Final = 64 << 10
_MOST_PLACES: Final = 4096
_USUAL: Final = len(vars(logging.makeLogRecord({})))  # attributes of a record without fields of its own
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_quoted: Final = json.encoder.encode_basestring_ascii


class Logged:
    """Sees every record that a logger hands to its handlers, whatever these are, and changes nothing for them."""

    def __init__(
        self, spool: Path, head: Mapping[str, object], op: Callable[[], str], caught: Callable[[str, Exception], None], writers: Writers = BY_PYTHON
    ) -> None:
        """The spool is the process's folder: files are beside it, and named like it. The op is what the thread is within."""
        self._files = Files(spool, head)
        self._op, self._caught, self._write_line = op, caught, writers.line
        self.step = -1  # the one under way
        self._lock = threading.RLock()  # a signal's handler may log, too
        self._closed = False
        self._places: dict[tuple[str, int, str, int], str] = {}
        self._original = logging.Logger.callHandlers
        self._installed = self._call_handlers()

    def _call_handlers(self) -> Callable[[logging.Logger, logging.LogRecord], None]:
        """What stands in the place of Logger.callHandlers. Calls of our own would cost as much as what they do: there are few."""
        original, files, places, op_under_way, write = self._original, self._files, self._places, self._op, self._write_line
        lines = files.lines

        def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
            try:
                if not files.full or files.takes():
                    place = places.get((record.name, record.levelno, record.filename, record.lineno)) or self._new_place(record)
                    text = record.msg
                    if record.args or text.__class__ is not str or len(text) > _MOST_TEXT:
                        text = _text(record)
                    op, more = op_under_way(), ""
                    if op or record.exc_info or len(record.__dict__) != _USUAL:
                        more = _more(record, op)
                    if not write(lines, record.created, place, self.step, text, more):
                        self._write(f'{{"t":{int(record.created * 1e9)},{place}"s":{self.step},"m":{_quoted(text)}{more}}}\n')
            except Exception as error:  # as in Guard: whoever logs has done nothing wrong
                self._caught("a record of logging", error)
            original(logger, record)

        return call_handlers

    def _write(self, line: str) -> None:
        with self._lock:
            if not self._closed:
                self._files.write(line.encode())

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
        self._write(f'{{"t":{time_ns},"s":{self.step},{body}{more}}}\n')

    def leave(self) -> None:
        """This is a child that was forked: the files are the parent's."""
        self._closed = True
        self._files.give_up()
        self._restore()

    def _restore(self) -> None:
        if logging.Logger.callHandlers is self._installed:
            setattr(logging.Logger, "callHandlers", self._original)  # noqa: B010 - as above

    def _new_place(self, record: logging.LogRecord) -> str:
        """What all records of one place in the program have in common."""
        key = name, level, file, number = record.name, record.levelno, record.filename, record.lineno
        if len(self._places) >= _MOST_PLACES:
            self._places.clear()
        place = self._places[key] = f'"l":{level},"n":{_quoted(name)},"f":{_quoted(file)},"i":{number},'
        return place


def _text(record: logging.LogRecord) -> str:
    """What few records need: arguments to format, or a message that is no text or too long."""
    text = record.getMessage() if record.args else str(record.msg)
    return text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT] + "…"


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
