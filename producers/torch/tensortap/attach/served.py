"""A model in an inference engine: the engine says when a step begins, and what is served in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from torch import nn

from tensortap.attach import plain
from tensortap.attach.wanted import wanted
from tensortap.config import SettingsError, changed
from tensortap.notices import Notices
from tensortap.session import Session
from tensortap.spool import SpoolError
from tensortap.steps import Facts

_MARK: Final = "_tensortap"
_notices: Final = Notices()


class Served:
    """The tap on one model of an engine. Its calls outside of steps, which warm up and capture, are not recorded."""

    def __init__(self, model: nn.Module, rank: int | None) -> None:
        self._session = Session(changed(wanted(), rank=rank), model, automatic=False, forwards_begin=False)

    def begin(self, facts: Facts) -> None:
        """A step begins."""
        self._session.facts = facts
        self._session.start()

    def end(self) -> None:
        """It is over."""
        self._session.step()


Begin = Callable[[Any, tuple[Any, ...], dict[str, Any]], Served | None]


def steps(owner: type, method: str, begin: Begin) -> None:
    """Let calls of a method be steps: begin is given the object and the arguments, and says of which tap, if of any.

    Whoever looks for models by himself looks no further: the engine knows better.
    """
    original = getattr(owner, method)
    if hasattr(original, _MARK):
        return
    plain.stop()

    @functools.wraps(original)
    def as_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        served = _begun(begin, self, args, kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            if served:
                served.end()

    setattr(as_step, _MARK, True)
    setattr(owner, method, as_step)


def _begun(begin: Begin, runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Served | None:
    try:
        return begin(runner, args, kwargs)
    except (SettingsError, SpoolError) as error:
        _notices.say(f"nothing is recorded: {error}")
    except Exception as error:
        _notices.say(f"a step is not recorded: {type(error).__name__}: {error}")
    return None


def tap_of(runner: Any, model: Callable[[], nn.Module], rank: Callable[[], int | None]) -> Served:
    """The tap on a runner's model, made when it is first asked for."""
    known: Served | None = getattr(runner, _MARK, None)
    if known is None:
        known = Served(model(), rank())
        setattr(runner, _MARK, known)
    return known
