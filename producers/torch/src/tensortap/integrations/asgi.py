"""Attaches to Starlette, and so to FastAPI and the servers of SGLang and vLLM: requests for text are recorded as they pass by.

Whatever the application and its server tell each other goes through unchanged, piece by piece, at the moment that it is told.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, MutableMapping
from types import ModuleType
from typing import Any, Final

from tensortap._record import http_bodies
from tensortap._record.http_log import HttpLog, of_environment

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_MOST_ASKED: Final = 1 << 20  # bytes of a body that are kept
_MOST_ANSWERED: Final = 8 << 20


def attach(starlette: ModuleType) -> None:
    """Record what applications of Starlette are asked for, where the launcher wants that."""
    log = of_environment()
    if log is not None:
        watch(starlette.Starlette, log)


def watch(application: Any, log: HttpLog) -> Callable[[], None]:
    """Record what applications of this class are asked for. Returns what undoes it."""
    call = application.__call__

    @functools.wraps(call)
    async def watched(self: object, scope: Message, receive: Receive, send: Send) -> None:
        exchange = _begun(scope, log)
        if exchange is None:
            await call(self, scope, receive, send)
            return
        try:
            await call(self, scope, exchange.receiving(receive), exchange.sending(send))
        finally:
            exchange.safely(exchange.end)

    application.__call__ = watched

    def undo() -> None:
        if application.__call__ is watched:
            application.__call__ = call

    return undo


def _begun(scope: Message, log: HttpLog) -> Exchange | None:
    """The exchange that begins, if it is one to record. One application may lie within another, which has said so."""
    try:
        return _recorded(scope, log)
    except Exception as error:  # as in Guard: a thread may not start
        log.lose(f"{type(error).__name__}: {error}", 2)  # what is asked, and the answer
        return None


def _recorded(scope: Message, log: HttpLog) -> Exchange | None:
    if scope.get("type") != "http" or scope.get("method") != "POST" or "app" in scope:
        return None
    path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
    if path not in log.routes:
        return None
    return Exchange(path, log)


class _Piled:
    """The pieces of a body, up to so many bytes."""

    def __init__(self, most: int) -> None:
        self.size, self._most = 0, most
        self._pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size <= self._most:
            self._pieces.append(bytes(piece))
        else:
            self._pieces.clear()

    def whole(self) -> bytes | None:
        """All of it; None where that is too much."""
        return b"".join(self._pieces) if self.size <= self._most else None


class Exchange:
    """One request and its answer, as they pass by."""

    def __init__(self, route: str, log: HttpLog) -> None:
        """A request to that route begins."""
        self._route, self._log, self._number = route, log, log.number()
        self._begun_ns = time.time_ns()
        self._asked, self._answer = _Piled(_MOST_ASKED), _Piled(_MOST_ANSWERED)
        self._status = 0
        self._first_ns = self._end_ns = 0
        self._is_told = self._is_left = self._is_over = False

    def receiving(self, receive: Receive) -> Receive:
        """The same, watched."""

        async def watched() -> Message:
            message = await receive()
            self.safely(self._received, message)
            return message

        return watched

    def sending(self, send: Send) -> Send:
        """The same, watched."""

        async def watched(message: Message) -> None:
            self.safely(self._sent, message)
            await send(message)

        return watched

    def safely(self, action: Callable[..., None], *args: object) -> None:
        """Do this, and let nobody who serves hear of what goes wrong."""
        try:
            action(*args)
        except Exception as error:  # as in Guard
            self._log.lose(f"{type(error).__name__}: {error}")

    def _received(self, message: Message) -> None:
        if message["type"] == "http.request" and not self._is_told:
            self._asked.add(message.get("body", b""))
            if not message.get("more_body"):
                self._tell_asked()
        elif message["type"] == "http.disconnect" and not self._end_ns:
            self._is_left = True

    def _sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        elif message["type"] == "http.response.body":
            piece, now = message.get("body", b""), time.time_ns()
            if piece and not self._first_ns:
                self._first_ns = now
            self._answer.add(piece)
            if not message.get("more_body"):
                self._end_ns = now
                self.end()

    def _tell_asked(self) -> None:
        self._is_told = True
        head = {"tensortap": "request", "n": self._number, "time_ns": self._begun_ns, "route": self._route, "bytes": self._asked.size}
        body, keep = self._asked.whole(), self._log.keep
        self._asked = _Piled(0)
        too_large = {"unread": f"its body has {head['bytes']} bytes, limit {_MOST_ASKED}"}
        self._log.put(lambda: head | (too_large if body is None else http_bodies.asked(body, keep)))

    def end(self) -> None:
        """The answer is over, or the application gave up."""
        if self._is_over:
            return
        self._is_over = True
        if not self._is_told:  # nobody has read it
            self._tell_asked()
        head = {"tensortap": "answer", "n": self._number, "time_ns": self._end_ns or time.time_ns(), "first_ns": self._first_ns, "status": self._status}
        if not self._end_ns:
            head["broken"] = "its client has gone" if self._is_left else "the server raised"
        body, keep = self._answer.whole(), self._log.keep
        self._answer = _Piled(0)
        self._log.put(lambda: head | ({} if body is None else http_bodies.answered(body, keep)))
