"""Hugging Face transformers: which steps of generate read a prompt, and which write the next token."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from torch import Tensor, nn

from tensortap._record import module_calls, unseen
from tensortap._record.guard import Guard
from tensortap._session.session import Session
from tensortap._session.step_boundaries import Facts
from tensortap.integrations import generic

_MARK: Final = "_tensortap"
_guard: Final = Guard(unseen.Unseen())
_generations: Final[weakref.WeakKeyDictionary[nn.Module, Generation]] = weakref.WeakKeyDictionary()


class Generation:
    """The forwards of one model: those of generate, and others."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._under_way = False
        self._read = False  # the prompt
        self._coming = Facts()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """One call of generate."""
        self._under_way, self._read = True, False
        try:
            yield
        finally:
            self._under_way = False

    def ahead(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """A forward is about to begin, whether a step with it or not."""
        self._coming = self._facts(args, kwargs) if self._under_way else Facts()
        self._session.ahead(self._coming)

    def before(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """A forward begins, and the step with it."""
        self._session.ahead(None)
        if self._session.is_led_by(model):
            self._session.facts = self._coming

    def _facts(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Facts:
        given = kwargs.get("input_ids")
        given = kwargs.get("inputs_embeds", args[0] if args else None) if given is None else given
        if not isinstance(given, Tensor) or given.dim() < 2:
            return Facts()
        requests, length = given.shape[:2]
        phase = "decode" if self._read and length == 1 else "prefill"
        self._read = True
        return Facts(phase=phase, tokens=requests * length, requests=requests)


def attach(utils: ModuleType) -> None:
    """Hear of every call of generate."""
    original = utils.GenerationMixin.generate
    if hasattr(original, _MARK):
        return
    find = _guard.hook("generate", _generation)

    @functools.wraps(original)
    def generate(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        generation: Generation | None = find(self)
        if generation is None:
            return original(self, *args, **kwargs)
        with generation.under_way():
            return original(self, *args, **kwargs)

    setattr(generate, _MARK, True)
    utils.GenerationMixin.generate = generate


def _generation(model: nn.Module) -> Generation | None:
    known = _generations.get(model)
    if known is None:
        session = generic.expect(model)
        if session is None:
            return None
        known = _generations[model] = Generation(session)
        session.undo_too(module_calls.before(model, _guard.hook("ahead of a forward", known.ahead), with_kwargs=True, first=True))
        # Behind the tap's own hook, which ends the step before.
        session.undo_too(module_calls.before(model, _guard.hook("before a forward", known.before), with_kwargs=True))
    return known
