"""Lets a debugger attach: debugpy listens on the loopback device, one port a rank."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from tensortap._debug import standing
from tensortap._health.heartbeat import debuggers_pass_over

HOST: Final = "127.0.0.1"
OF_PARENT: Final = "TENSORTAP_LISTENER"  # in the environment of what a process starts that listens: its id
_MISSING: Final = "debugpy is not installed in this program's environment: pip install debugpy"
_lock: Final = threading.Lock()
_listening: Final[list[tuple[int, int]]] = []  # process and port


class ListenError(RuntimeError):
    """Nobody can attach; the message says why, and what to do."""


def port() -> int:
    """Where this process listens; 0 where it does not."""
    return next((port for pid, port in _listening if pid == os.getpid()), 0)


def is_part_of_a_rank() -> bool:
    """Whether a process that listens has started this one, which therefore is no rank of its own."""
    return os.environ.get(OF_PARENT, "") not in ("", str(os.getpid()))


def listen(at: int) -> int:
    """Listen there, and return the port; of a process that listens already the one that it has. Raises ListenError."""
    with _lock:
        if known := port():
            return known
        _check_free(at)
        debugpy = _debugpy()
        os.environ[OF_PARENT] = str(os.getpid())
        try:
            _configure(debugpy)
            debugpy.listen((HOST, at))
        except Exception as error:  # debugpy raises whatever its sockets and its adapter do
            os.environ.pop(OF_PARENT, None)
            raise ListenError(f"debugpy cannot listen at {HOST}:{at}: {type(error).__name__}: {error}") from error
        _listening.append((os.getpid(), at))
        os.register_at_fork(after_in_child=_untraced)
        return at


def wait(seconds: float) -> bool:
    """Wait for a debugger to attach, so long at most. Whether one has."""
    debugpy = sys.modules["debugpy"]
    patience = threading.Timer(seconds, lambda: debugpy.wait_for_client.cancel())
    debuggers_pass_over(patience)
    patience.daemon = True
    standing.begins(standing.WAITING)
    patience.start()
    try:
        debugpy.wait_for_client()
    finally:
        patience.cancel()
        standing.ends(standing.WAITING)
    return is_attached()


def stop_at(frame: FrameType) -> None:
    """Have the debugger that is attached stop this thread in the frame."""
    pydevd: Any = sys.modules["pydevd"]
    pydevd.settrace(suspend=True, trace_only_current_thread=True, patch_multiprocessing=False, stop_at_frame=frame)


def is_attached() -> bool:
    """Whether a debugger is attached now."""
    debugpy = sys.modules.get("debugpy")
    return bool(port() and debugpy and debugpy.is_client_connected())


def in_background(at: int, done: Callable[[int, str], None]) -> None:
    """Listen from a thread of its own, and tell which port it is, or why there is none."""

    def attempt() -> None:
        try:
            done(listen(at), "")
        except ListenError as error:
            done(0, str(error))

    thread = threading.Thread(target=attempt, name="tensortap debugger", daemon=True)
    debuggers_pass_over(thread)
    thread.start()


def _check_free(at: int) -> None:
    """Of a port that is taken debugpy would say little."""
    if not 0 < at < 1 << 16:
        raise ListenError(f"{at} is no port: give --debug-port so that it and the rank make less than 65536")
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, at))
    except OSError as error:
        raise ListenError(f"port {at} of {HOST} cannot be had: {error.strerror or error}; give another --debug-port, to which the rank is added") from error


def _debugpy() -> Any:
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning of frozen modules, which are none of the user's
    try:
        import debugpy
    except ImportError as error:
        raise ListenError(_MISSING if error.name == "debugpy" else f"debugpy cannot be imported: {error}") from error
    return debugpy


def _configure(debugpy: Any) -> None:
    """The process that speaks with the debugger's client is no part of the job: we do not enter it."""
    debugpy.configure(subProcess=False)
    with suppress(ValueError):  # of a release that cannot set it: the process then is one more without a model
        debugpy.configure(pythonEnv={name: value for name, value in os.environ.items() if not name.startswith("TENSORTAP_")})


def _untraced() -> None:
    """In a child that was forked: the debugger's connection is the parent's, so none of its breakpoints may count here."""
    sys.settrace(None)
    threading.settrace(None)  # pyright: ignore[reportArgumentType]
    standing.after_fork()
