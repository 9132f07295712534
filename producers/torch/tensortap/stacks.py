"""Call stacks, as msProbe writes them: innermost frame first, without frames of ours."""

from __future__ import annotations

import linecache
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from tensortap.spool import Spool

_MOST_FRAMES: Final = 100
_OURS: Final = str(Path(__file__).parent)


class Stacks:
    """The stacks that ops were called from, each defined once."""

    def __init__(self, spool: Spool, wanted: bool) -> None:
        self._spool, self._wanted = spool, wanted
        self._known: dict[tuple[tuple[CodeType, int], ...], int] = {}
        self._texts: dict[tuple[CodeType, int], str] = {}

    def number(self, frame: FrameType | None) -> int:
        """The local id of the stack that begins at a frame; 0 when stacks are not wanted."""
        if not self._wanted:
            return 0
        places: list[tuple[CodeType, int]] = []
        while frame is not None and len(places) < _MOST_FRAMES:
            if not frame.f_code.co_filename.startswith(_OURS):
                places.append((frame.f_code, frame.f_lineno or 0))
            frame = frame.f_back
        key = tuple(places)
        number = self._known.get(key)
        if number is None:
            number = self._spool.define("stack", {"frames": [self._text(place) for place in places]})
            if number:
                self._known[key] = number
        return number

    def _text(self, place: tuple[CodeType, int]) -> str:
        text = self._texts.get(place)
        if text is None:
            code, line = place
            source = linecache.getline(code.co_filename, line).strip()
            text = f"File {code.co_filename}, line {line}, in {code.co_name}, \n {source}"
            self._texts[place] = text
        return text
