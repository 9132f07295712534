"""The hooks by which a tap hears that its models are called, and other registrations that it undoes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from torch import nn

from tensortap._record.guard import Guard
from tensortap._record.model_roots import keep_with_parts


class Handle(Protocol):
    """What a registration returns."""

    def remove(self) -> None:
        """Undo it."""


class Armed:
    """Hooks on roots, and whatever else is to be undone."""

    def __init__(self, guard: Guard, hooks: tuple[Callable[..., Any], Callable[..., Any]] | None) -> None:
        """Before and after a call. Without hooks models are only kept alive where nobody else does."""
        self._guard, self._hooks = guard, hooks
        self.forwards_begin = hooks is not None  # steps
        self._handles: list[Handle] = []

    def arm(self, roots: Iterable[nn.Module]) -> None:
        """Hear of calls of these. One that is a shallow copy of another shares its hooks."""
        for root in roots:
            self._handles += keep_with_parts(root, self._guard)
            before, after = self._hooks or (None, None)
            if before and after and before not in root._forward_pre_hooks.values():
                self._handles.append(root.register_forward_pre_hook(before))
                self._handles.append(root.register_forward_hook(after, always_call=True))

    def undo_too(self, handle: Handle) -> None:
        """Undo this registration, too."""
        self._handles.append(handle)

    def remove(self) -> None:
        """Undo all."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
