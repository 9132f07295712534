"""Whether a person holds this process up, and since when: whoever watches for hangs must know."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Final

WAITING: Final = 1  # for a debugger to attach
ATTACHED: Final = 2
AT_PROMPT: Final = 3  # of the terminal, or waiting for it

_since: Final[dict[tuple[int, int], int]] = {}  # by kind and by who tells of it


def begins(kind: int, who: int = 0) -> None:
    """From now on a person holds the process up."""
    _since.setdefault((kind, who), time.time_ns())


def ends(kind: int, who: int = 0) -> None:
    """No longer, of that kind."""
    _since.pop((kind, who), None)


def now() -> tuple[int, int]:
    """The kind, and since when by this process's clock; (0, 0) where nobody does."""
    if not _since:
        return 0, 0
    standing = list(_since.items())  # another thread may end one
    return max((kind for (kind, _), _ in standing), default=0), min((since for _, since in standing), default=0)


def after_fork() -> None:
    """In a child: that was the parent."""
    _since.clear()


def say(sentence: str) -> None:
    """Tell it on stderr, if the process has one."""
    with suppress(OSError, ValueError, AttributeError):
        print(f"tensortap: {sentence}", file=sys.stderr, flush=True)
