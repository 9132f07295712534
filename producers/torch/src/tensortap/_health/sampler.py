"""Where the threads of this process spend their time: their stacks, taken many times a second for a while, as a file of speedscope."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

_DEEPEST: Final = 256
_PATIENCE_S: Final = 10.0  # with the disk, as a program ends
_OURS: Final = "tensortap "  # how the names of our threads begin
_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
Stack = tuple[tuple[CodeType, int], ...]  # innermost first


class Sampler:
    """A thread that samples, and writes the file when the time is over or it is stopped. It raises nothing."""

    def __init__(self, path: Path, *, seconds: float, rate: int, label: str, ended: Callable[[float, Exception | None], None]) -> None:
        """Begin. The label says of which process the stacks are; ended hears how long they were taken, and why they are not on file."""
        self._path, self._seconds, self._rate, self._label, self._ended = path, seconds, rate, label, ended
        self._samples: dict[int, list[list[Any]]] = {}  # by thread: stack and seconds
        self._names: dict[int, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{_OURS}sampler", daemon=True)
        self._thread.start()

    @property
    def is_under_way(self) -> bool:
        """Whether the file is not written yet."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End before the time, and return when the file is there, or the disk has not answered for long."""
        self._stop.set()
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        begun = last = time.monotonic()
        failure: Exception | None = None
        try:
            while not self._stop.wait(max(0.0, 1 / self._rate - (time.monotonic() - last))) and last - begun < self._seconds:
                now = time.monotonic()
                self._take(now - last)
                last = now
            self._write(last - begun)
        except Exception as error:  # as in Guard: nobody has called this
            failure = error
        self._ended(last - begun, failure)

    def _take(self, seconds: float) -> None:
        # sys._current_frames is what debuggers use: it runs no code of the threads.
        for ident, frame in sys._current_frames().items():
            if ident not in self._names:
                self._name_threads()
            if self._names.setdefault(ident, str(ident)).startswith(_OURS):
                continue
            stack, samples = _stack(frame), self._samples.setdefault(ident, [])
            if samples and samples[-1][0] == stack:
                samples[-1][1] += seconds
            else:
                samples.append([stack, seconds])

    def _name_threads(self) -> None:
        self._names.update({thread.ident: thread.name for thread in threading.enumerate() if thread.ident is not None})

    def _write(self, took: float) -> None:
        """A file that is there is whole."""
        fresh = self._path.with_suffix(".new")
        try:
            fresh.write_text(json.dumps(self._content(took)))
            fresh.chmod(0o600)
            os.replace(fresh, self._path)
        except OSError:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise

    def _content(self, took: float) -> dict[str, Any]:
        frames = _Frames()
        main = threading.main_thread().ident
        threads = sorted(self._samples, key=lambda ident: ident != main)
        profiles = [self._profile(ident, frames) for ident in threads]
        cut = "" if took >= self._seconds else f", interrupted after {took:.1f} s of {self._seconds:g} s"
        name = f"{self._label}, process {os.getpid()}{cut}"
        return {"$schema": _SCHEMA, "name": name, "exporter": "tensortap", "shared": {"frames": frames.all}, "profiles": profiles}

    def _profile(self, ident: int, frames: _Frames) -> dict[str, Any]:
        samples = self._samples[ident]
        weights = [seconds for _, seconds in samples]
        return {
            "type": "sampled",
            "name": f"{self._label}: {self._names[ident]}",
            "unit": "seconds",
            "startValue": 0,
            "endValue": sum(weights),
            "samples": [[frames.place(*at) for at in reversed(stack)] for stack, _ in samples],
            "weights": weights,
        }


class _Frames:
    """The frames of a file, each once."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []
        self._places: dict[tuple[CodeType, int], int] = {}

    def place(self, code: CodeType, line: int) -> int:
        """The index of a frame."""
        known = self._places.get((code, line))
        if known is None:
            known = self._places[code, line] = len(self.all)
            self.all.append({"name": getattr(code, "co_qualname", code.co_name), "file": code.co_filename, "line": line})
        return known


def _stack(innermost: FrameType) -> Stack:
    stack: list[tuple[CodeType, int]] = []
    frame: FrameType | None = innermost
    while frame is not None and len(stack) < _DEEPEST:
        stack.append((frame.f_code, frame.f_lineno or 0))
        frame = frame.f_back
    return tuple(stack)
