"""The hooks by which a tap hears that its models are called, and other registrations that it undoes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from torch import nn

from tensortap._record import module_calls


class Handle(Protocol):
    """What a registration returns."""

    def remove(self) -> None:
        """Undo it."""


class Armed:
    """Hooks on roots, and whatever else is to be undone."""

    def __init__(self, hooks: tuple[Callable[..., Any], Callable[..., Any]] | None) -> None:
        """Before and after a call; None: no call is heard of."""
        self._hooks = hooks
        self.forwards_begin = hooks is not None  # steps
        self._handles: list[Handle] = []

    def arm(self, roots: Iterable[nn.Module]) -> None:
        """Hear of calls of these."""
        for root in roots:
            before, after = self._hooks or (None, None)
            if before and after and not module_calls.has(root, before):
                self._handles.append(module_calls.before(root, before))
                self._handles.append(module_calls.after(root, after, always=True))

    def undo_too(self, handle: Handle) -> None:
        """Undo this registration, too."""
        self._handles.append(handle)

    def remove(self) -> None:
        """Undo all."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
