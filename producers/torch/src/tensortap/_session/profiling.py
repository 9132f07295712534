"""torch.profiler for some steps, as it was asked for from without."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import torch

from tensortap import _torch_compat

_PATIENCE_S: Final = 60.0  # with the disk, as a program ends: many ops take seconds


class Profiling:
    """At most one profile at a time. Its methods are called by the thread that makes the steps, which is the one that is profiled."""

    def __init__(self, told: Callable[[str, Mapping[str, object]], None]) -> None:
        self._told = told
        self._profile: Any = None
        self._mark: Any = None
        self._path = Path()
        self._left = self._steps = 0
        self._writing: threading.Thread | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether steps are being profiled."""
        return self._profile is not None

    def begin(self, path: Path, steps: int) -> None:
        """Profile so many steps, the first of which begins now. Raises ValueError where a profile is under way."""
        if self.is_under_way or _torch_compat.is_profiling():
            whose = "one that was asked for" if self.is_under_way else "the program's own"
            raise ValueError(f"torch.profiler is in use, by {whose}: PyTorch has one at a time; ask again when that has ended")
        self._path, self._left, self._steps = path, steps, 0
        profile = torch.profiler.profile(record_shapes=True)  # of all that there is: the CPU, and devices where there are some
        profile.start()
        self._profile = profile

    def step_begins(self, step: int) -> None:
        """A step begins, and the one before is over."""
        self._unmark()
        if self._steps == self._left:
            self._end()
            return
        self._steps += 1
        self._mark = torch.profiler.record_function(f"tensortap step {step}")
        self._mark.__enter__()

    def end(self) -> None:
        """The tap ends: what was profiled is written, and on file when this returns, or that is told."""
        if self.is_under_way:
            self._unmark()
            self._end()
        if self._writing:
            self._writing.join(_PATIENCE_S)
            if self._writing.is_alive():
                self._told("profile", {"path": str(self._path), "failed": f"it is not written within {_PATIENCE_S:g} s"})

    def leave(self) -> None:
        """In a child that was forked: the profile is the parent's."""
        self._profile = self._mark = self._writing = None

    def _unmark(self) -> None:
        if self._mark is not None:
            self._mark.__exit__(None, None, None)
            self._mark = None

    def _end(self) -> None:
        profile, self._profile = self._profile, None
        with suppress(RuntimeError):  # the program has ended it: by torch.profiler's own means
            profile.stop()
        self._writing = threading.Thread(target=self._write, args=(profile, self._path, self._steps), name="tensortap profile", daemon=True)
        self._writing.start()

    def _write(self, profile: Any, path: Path, steps: int) -> None:
        """A file that is there is whole. Many ops take seconds to write, for which no step waits."""
        fresh = path.with_suffix(".new")
        said: dict[str, object] = {"path": str(path), "steps": steps}
        try:
            profile.export_chrome_trace(str(fresh))
            fresh.chmod(0o600)
            os.replace(fresh, path)
        except Exception as error:  # as in Guard: nobody has called this
            fresh.unlink(missing_ok=True)
            said["failed"] = str(error)
        self._told("profile", said)
