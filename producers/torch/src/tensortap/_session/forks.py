"""What a process made by fork has of its parent's is told so, before anything else runs there."""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol

from tensortap._record import unseen
from tensortap._record.guard import Guard


class Forked(Protocol):
    """What a child must not go on with as it is."""

    def after_fork(self) -> None:
        """This is a child."""


_heard: Final[weakref.WeakSet[Forked]] = weakref.WeakSet()


def hear_of(one: Forked) -> None:
    """Tell it, as long as it lives."""
    _heard.add(one)


def _tell() -> None:
    for one in list(_heard):
        try:
            one.after_fork()
        except Exception as error:  # as in Guard: whoever forks need not know of us
            Guard(unseen.Unseen()).caught("after a fork", error)


os.register_at_fork(after_in_child=_tell)
