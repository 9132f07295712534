"""Takes values of calls as rows of the spool without Python's own calls, by csrc/take.c; all works without it."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tensortap._stats import kernel
from tensortap._stats.measure import Plan
from tensortap._stats.torch_tensors import of_torch

LITERALS: Final = 5
NONE, TRUE, FALSE, INT, FLOAT = range(LITERALS)
_MOST_LAYOUTS: Final = 1024
# Places in the words of the kernel's taker: the cursor, an of_torch, what is asked whether versions tell, and what Python sets later.
_CURSOR, _TORCH, _TRUSTS, _HELD, _TELLS, _FIRST_LITERAL = range(6)


def _left(*_: object) -> int:
    return 0


def _none(*_: object) -> None:
    return None


def _as_it_was(values: object, sites: object, first: int, seq: object) -> int:
    return first


class Taker:
    """What it leaves is for others to write. To be called under the session's lock, where torch functions are not intercepted."""

    def __init__(self, functions: kernel.Takes | None, cursor: int) -> None:
        """The address of the spool's cursor. Without functions, or with a PyTorch that they do not know, it leaves all."""
        # Of a value, its site and seq: 1 where it is taken, -1 where it has a NaN or +Inf besides, 0 where it is left.
        self.one: Callable[[object, int, int], int] = _left
        # Of values, their sites, the first to be taken and seq: how many are taken up to there, negative likewise for the last.
        self.values: Callable[[tuple[object, ...], list[int], int, int], int] = _as_it_was
        # An op begins, or ends, with values (csrc/take.h): likewise, or None.
        self.opens: Callable[..., int | None] = _none
        self.closes: Callable[..., int | None] = _none
        self._functions = functions
        self._torch = of_torch(functions.facts) if functions else None
        self._plans: list[Plan] = []
        self._trusts: Callable[[], bool] | None = None
        if functions and self._torch is not None:
            self._begin(functions, cursor, self._torch)

    def _begin(self, functions: kernel.Takes, cursor: int, torch: Any) -> None:
        self._memory = mmap.mmap(-1, functions.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # pages that are not needed take no room
        self._anchor = ctypes.c_char.from_buffer(self._memory)
        self._address = ctypes.addressof(self._anchor)
        self._words = memoryview(self._memory).cast("Q")
        self._words[_CURSOR], self._words[_TORCH], self._words[_TELLS] = cursor, ctypes.addressof(torch), 1
        self.one, self.values = partial(functions.one, self._address), partial(functions.values, self._address)
        self.opens, self.closes = partial(functions.opens, self._address), partial(functions.closes, self._address)

    @property
    def takes(self) -> bool:
        """Whether it takes anything."""
        return self.one is not _left

    def ask(self, trusts: Callable[[], bool] | None) -> None:
        """Whether versions of tensors tell of every change is asked of that; they do where there is nothing to ask."""
        self._trusts = trusts  # kept for the kernel
        if self.takes:
            self._words[_TRUSTS] = id(trusts) if trusts else 0

    def hold(self, held: bool) -> None:
        """Leave every tensor, as long as more is asked for than this does."""
        if self.takes:
            self._words[_HELD] = held

    def tell(self, tells: bool) -> None:
        """Whether to say of values that they are not finite."""
        if self.takes:
            self._words[_TELLS] = tells

    def literal(self, which: int, layout: int) -> None:
        """The layout of None, True, False, an int or a float."""
        if self.takes:
            self._words[_FIRST_LITERAL + which] = layout

    def learn(self, tensor: object, plan: Plan) -> bool:
        """Tensors like this one are taken by the plan from here on. False where they were, or cannot be."""
        if not self.takes or self._functions is None:
            return False
        if len(self._plans) >= _MOST_LAYOUTS:
            self.forget_layouts()
        if not self._functions.learn(self._address, tensor, plan.call):
            return False
        self._plans.append(plan)
        return True

    def forget(self) -> None:
        """Read every tensor anew."""
        if self.takes and self._functions:
            self._functions.forget(self._address, 0)

    def forget_layouts(self) -> None:
        """Tensors are measured otherwise from here on."""
        if self.takes and self._functions:
            self._functions.forget(self._address, 1)
        self._plans.clear()
