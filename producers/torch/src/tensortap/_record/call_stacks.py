"""Call stacks, as msProbe writes them: innermost frame first, without frames of ours."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType
from typing import Final

from tensortap._spool.spool import Spool

_MOST_FRAMES: Final = 100
_MOST_STACKS: Final = 1 << 13
_MOST_TEXTS: Final = 1 << 16
_OURS: Final = str(Path(__file__).parents[1])

Call = tuple[CodeType, int]  # of a function, on the line


class Stacks:
    """The stacks that ops were called from, each defined once."""

    def __init__(self, spool: Spool, wanted: bool) -> None:
        self._spool, self._wanted = spool, wanted
        self._known: dict[tuple[Call, ...], int] = {}
        self._texts: dict[Call, str] = {}

    def number(self, frame: FrameType | None) -> int:
        """The local id of the stack that begins at a frame; 0 when stacks are not wanted."""
        return self._define(_calls(frame)) if self._wanted else 0

    def frames(self, number: int) -> list[str]:
        """The frames of a stack that was defined, by its local id."""
        return next(([self._text(call) for call in calls] for calls, known in self._known.items() if known == number), [])

    def raised(self, error: BaseException) -> int:
        """The local id of the stack that an exception comes from, which need not be that of its op's first call."""
        if not self._wanted:
            return 0
        passed = list(walk_tb(error.__traceback__))
        inner = [(frame.f_code, line) for frame, line in reversed(passed)]
        outside = passed[0][0].f_back if passed else sys._getframe(1)  # in C++, called by whoever is under way
        return self._define([*inner, *_calls(outside)])

    def _define(self, calls: Iterable[Call]) -> int:
        theirs = (call for call in calls if not call[0].co_filename.startswith(_OURS))
        key = tuple(islice(theirs, _MOST_FRAMES))
        number = self._known.get(key)
        if number is None:
            if len(self._known) >= _MOST_STACKS:
                self._spool.refuse("stack")
                return 0
            number = self._spool.define("stack", {"frames": [self._text(call) for call in key]})
            if number:
                self._known[key] = number
        return number

    def _text(self, call: Call) -> str:
        text = self._texts.get(call)
        if text is None:
            code, line = call
            source = linecache.getline(code.co_filename, line).strip()
            text = f"File {code.co_filename}, line {line}, in {code.co_name}, \n {source}"
            if len(self._texts) < _MOST_TEXTS:
                self._texts[call] = text
        return text


def _calls(frame: FrameType | None) -> Iterator[Call]:
    while frame is not None:
        yield frame.f_code, frame.f_lineno or 0
        frame = frame.f_back
