"""Which modules' calls a thread is within, by its frames: hooks do not see all that begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Final

from tensortap._record.local_variables import local_variable

_CALL: Final = "_call_impl"  # of torch's modules


def called(frame: FrameType | None) -> Iterator[object]:
    """The modules whose calls are under way at a frame, innermost first."""
    while frame is not None:
        if frame.f_code.co_name == _CALL:
            yield local_variable(frame, "self", None)
        frame = frame.f_back
