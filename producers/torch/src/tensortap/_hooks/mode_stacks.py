"""The stacks on which torch keeps the modes of a thread. A guest's lies below all others: those leave in their own order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import torch

from tensortap import _torch_compat


class ModeStack:
    """One of the stacks of the thread that calls."""

    def __init__(self, size: Callable[[], int], at: Callable[[int], Any], pop: Callable[[], Any], push: Callable[[Any], object]) -> None:
        self._size, self._at, self._pop, self._push = size, at, pop, push

    def enter(self, mode: Any) -> None:
        """Put the mode below all others, which are left by those who entered them, but above a default device that must be lowest."""
        above = [self._pop() for _ in range(self._size())]
        lowest = [above.pop()] if above and _must_be_lowest(above[-1]) else []
        self._put([*above, mode, *lowest])

    def leave(self, mode: Any) -> bool:
        """Take the mode from wherever it is. Whether it was there."""
        above: list[Any] = []
        found = False
        while self._size() and not found:
            top = self._pop()
            found = top is mode
            if not found:
                above.append(top)
        self._put(above)
        return found

    def has(self, mode: Any) -> bool:
        """Whether the mode is on the stack."""
        return any(self._at(place) is mode for place in range(self._size()))

    def _put(self, modes: Iterable[Any]) -> None:
        for mode in reversed([*modes]):
            self._push(mode)


def _must_be_lowest(mode: Any) -> bool:
    """Whether torch takes the mode from the bottom: that of torch.set_default_device in this thread, not those of `with torch.device`."""
    default = getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)
    return _torch_compat.DEFAULT_DEVICE_IS_LOWEST and mode is default


FUNCTIONS: Final = ModeStack(
    _torch_compat.len_torch_function_stack,
    _torch_compat.get_function_stack_at,
    _torch_compat.pop_torch_function_stack,
    _torch_compat.push_on_torch_function_stack,
)
DISPATCHES: Final = ModeStack(
    _torch_compat.len_torch_dispatch_stack,
    _torch_compat.get_dispatch_stack_at,
    lambda: _torch_compat.pop_torch_dispatch_stack(None),
    _torch_compat.push_on_torch_dispatch_stack,
)
