"""A signal asks for detail, in a process where nobody else listens to it."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

_ACTION_BYTES: Final = 256  # more than a struct sigaction has, which begins with the handler


class DetailSignal:
    """The process's handler of a signal, if that is free when a tap first records. Python has handlers set by the main thread only."""

    def __init__(self, name: str, ask: Callable[[], None]) -> None:
        """Of the signal USR1 or USR2; of none, where the name is none: schedulers and trainers use both for purposes of their own."""
        self._signal: signal.Signals | None = getattr(signal, f"SIG{name}", None)
        self._ask = ask
        self._ours: int | None = None

    def install(self) -> None:
        """Listen, unless somebody does."""
        if self._signal is None or self._ours is not None or not _on_main_thread() or _handler(self._signal) != 0:
            return
        signal.signal(self._signal, self._caught)
        self._ours = _handler(self._signal)

    def remove(self) -> None:
        """Listen no more. A handler that was set since stays."""
        if self._signal is not None and self._ours is not None and _on_main_thread() and self._is_still_ours(self._signal):
            signal.signal(self._signal, signal.SIG_DFL)
        self._ours = None

    def _is_still_ours(self, number: signal.Signals) -> bool:
        return _handler(number) == self._ours and signal.getsignal(number) == self._caught

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self._ask()


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _handler(number: signal.Signals) -> int | None:
    """The address that the system calls, 0 by default; Python knows no handlers of C code, as faulthandler's. None: not to be learnt."""
    action: Any = (ctypes.c_char * _ACTION_BYTES)()
    try:
        failed = ctypes.CDLL(None).sigaction(int(number), None, action)
    except (OSError, AttributeError):
        return None
    return None if failed else int.from_bytes(action.raw[: ctypes.sizeof(ctypes.c_void_p)], "little")
