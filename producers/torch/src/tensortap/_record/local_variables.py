"""Local variables of frames that are not ours, read without a trace."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any, Final

_CACHED: Final = sys.version_info < (3, 13)
_OURS_ALONE: Final = 3  # references: the frame's, the variable's here, the argument's of getrefcount


def local_variable(frame: FrameType, name: str, default: Any) -> Any:
    """The variable's value now.

    Before Python 3.13 a frame keeps the dictionary that f_locals made, and with it each value, until the frame ends or is asked again.
    A function's is emptied here, unless somebody else holds it; a module's or class's is the namespace itself.
    """
    variables = frame.f_locals
    value = variables.get(name, default)
    if _CACHED and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(variables) <= _OURS_ALONE:
        variables.clear()
    return value
