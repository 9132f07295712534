"""What of a tap is in the program from its beginning to its end, whatever step is under way: all that is not a hook of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from tensortap._config.settings import Settings
from tensortap._health.signals import DetailSignal
from tensortap._hooks.collective_calls import CollectiveCalls
from tensortap._hooks.cuda_graphs import Graphing
from tensortap._record.guard import Guard
from tensortap._record.served_requests import Request
from tensortap._session.recording import Process
from tensortap._session.telling import Telling


class Presence:
    """Hears what happens, for one tap: calls of collectives, graphs that are made, a signal, what the program says."""

    def __init__(
        self,
        settings: Settings,
        guard: Guard,
        calls: CollectiveCalls | None,
        *,
        paused: Callable[[], AbstractContextManager[object]],
        signalled: Callable[[], None],
        save: Callable[[object, str], None],
        served: Callable[[], Sequence[Request]],
    ) -> None:
        """Calls are those that were numbered before there was a model; what pauses is entered while PyTorch makes a graph."""
        self._graphing = Graphing(paused)
        self._calls = calls or CollectiveCalls(guard)
        self._signal = DetailSignal(settings.signal, signalled)
        self._telling = Telling(save, served, guard.caught)
        if settings.enabled:
            self._graphing.install()
            self._calls.install()
            self._telling.begin()

    def recorded_by(self, process: Process) -> None:
        """What is heard from here on, and what was kept for it, is on file."""
        self._signal.install()
        self._calls.log = process.calls
        self._telling.write_with(process)

    def hush(self) -> None:
        """The program is not heard any more: the recording is about to end."""
        self._telling.end()
        self._signal.remove()
        self._calls.log = None

    def end(self) -> None:
        """Undo the rest, when the recording has ended."""
        self._calls.remove()
        self._graphing.remove()

    def after_fork(self) -> None:
        """In a child: groups are the parent's, and there is no recording yet."""
        self._telling.write_with(None)
        self._calls.after_fork()
