"""Where the threads of this process are now: written to a file by the heartbeat when somebody pokes, whatever hangs."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

_DEEPEST: Final = 64
_MOST_THREADS: Final = 64


def write(path: Path) -> None:
    """Write the stacks of all threads but this one, innermost frame first. A disk that is full leaves no file, since an old one would tell of then."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    this = threading.get_ident()
    # sys._current_frames is what debuggers use: it runs no code of the threads and reads no source.
    others = [(ident, frame) for ident, frame in sys._current_frames().items() if ident != this]
    main = threading.main_thread().ident
    others.sort(key=lambda thread: thread[0] != main)
    parts = [_stack(names.get(ident, str(ident)), frame) for ident, frame in others[:_MOST_THREADS]]
    fresh = path.with_suffix(".new")
    try:
        fresh.write_text("\n".join(parts), errors="backslashreplace")
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _stack(name: str, innermost: FrameType) -> str:
    lines: list[str] = [f"thread {name}"]
    frame: FrameType | None = innermost
    while frame is not None and len(lines) <= _DEEPEST:
        lines.append(f"  {frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return "\n".join(lines) + "\n"
