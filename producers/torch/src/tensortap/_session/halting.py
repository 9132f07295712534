"""One rank asks for the end of the run; all ranks end it behind the same step, so that none waits in a collective for another.

Ranks agree by the store of their process group. Each says which step it has begun. Who asks reads them all, and names the last
of these: whoever began that step has not looked yet, since each looks as a step ends, and after it has said where it goes on.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import torch.distributed as dist

from tensortap import _torch_compat

STATUS: Final = 86  # of a process that ends so
_PREFIX: Final = "tensortap/halt/"
_ASKED: Final = _PREFIX + "asked"
_TARGET: Final = _PREFIX + "target"
_WHY: Final = _PREFIX + "why"
_PATIENCE: Final = 30.0  # seconds for ranks that come to the end of the step, too
_PAUSE: Final = 0.02


class Halt:
    """One rank's part. A store that fails, as one whose rank is gone, is as if no other rank had one."""

    def __init__(self, rank: int, say: Callable[[str], None]) -> None:
        self._rank, self._say = rank, say
        self._step = 0
        self._target: int | None = None  # behind which this rank ends
        self._why = ""
        self._gave_up = False  # waiting for a rank that asked, and did not say which step is the last
        self._world = 1
        self._store: Any = None  # as this rank ends: a program destroys its group on the way

    def begins(self, step: int) -> None:
        """A step begins."""
        self._step = step
        self._safely(lambda store: store.set(_at(dist.get_rank()), str(step)))

    def ask(self, why: str) -> str:
        """A value of the step under way is not finite: all ranks are to end. When that will be, in words."""
        self._target, self._why = self._step, why
        self._safely(self._agree)
        return "; all ranks end, as another has asked" if self._target is None else f"; all ranks end after step {self._target}"

    def ends(self, step: int) -> None:
        """A step has ended. Ends the process if that was the last one: SystemExit is raised, in the main thread."""
        self._step = step + 1
        self._safely(self._look)
        if self._target is not None and step >= self._target:
            self._say(f"ends after step {step}, with status {STATUS}, as on_nan asks: {self._why}")
            self._store = _store()
            self._world = dist.get_world_size() if self._store is not None else 1
            self._wait_for_all("told")
            _leave()

    def left(self) -> None:
        """The tap of this rank is closed; it waits a while until those of all are, as a launcher kills the others when one is gone."""
        self._wait_for_all("left")

    def _agree(self, store: Any) -> None:
        """Only the first to ask says which step is the last. Others wait for that as their step ends: here nobody waits."""
        if store.add(_ASKED, 1) > 1:
            self._target = None
            return
        world = range(dist.get_world_size())
        begun = [int(store.get(_at(rank))) for rank in world if store.check([_at(rank)])]
        self._target = max([self._step, *begun])
        store.set(_WHY, f"rank {self._rank}: {self._why}")
        store.set(_TARGET, str(self._target))

    def _look(self, store: Any) -> None:
        store.set(_at(dist.get_rank()), str(self._step))
        if self._target is None and store.check([_ASKED]):
            if store.check([_TARGET]) or (not self._gave_up and _comes(lambda: store.check([_TARGET]))):
                self._target, self._why = int(store.get(_TARGET)), store.get(_WHY).decode()
            elif not self._gave_up:
                self._gave_up = True
                self._say("another rank asked for the end of the run and is gone: this one goes on")

    def _wait_for_all(self, what: str) -> None:
        store = self._store
        if store is None:
            return
        with suppress(RuntimeError, ValueError):  # of a store whose rank is gone, since it has seen all
            store.add(_PREFIX + what, 1)
            if not _comes(lambda: store.add(_PREFIX + what, 0) >= self._world):
                self._say(f"other ranks did not come to the end of that step within {_PATIENCE:.0f} s")

    def _safely(self, action: Callable[[Any], object]) -> None:
        store = _store()
        if store is not None:
            try:
                action(store)
            except (RuntimeError, ValueError) as error:  # torch's, of a connection that is gone
                self._say(f"ranks cannot be told of the end of the run: {error}")


def _at(rank: int) -> str:
    return f"{_PREFIX}at/{rank}"


def _store() -> Any:
    """The store of the process group; None without one, or of one that has none."""
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() < 2:
        return None
    try:
        return _torch_compat.default_store()
    except (RuntimeError, ValueError):
        return None


def _comes(is_there: Callable[[], bool]) -> bool:
    """Whether that comes within the patience; nothing here waits longer, as a store's own get would."""
    end = time.monotonic() + _PATIENCE
    while not is_there():
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE)
    return True


def _leave() -> None:
    if threading.current_thread() is threading.main_thread():
        raise SystemExit(STATUS)
    os.kill(os.getpid(), signal.SIGTERM)  # SystemExit would end this thread alone
