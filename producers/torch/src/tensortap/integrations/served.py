"""A model in an inference engine: the engine says when a step begins, and what is served in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from torch import Tensor, nn

from tensortap._config.environment import wanted
from tensortap._config.settings import SettingsError, changed
from tensortap._record import module_calls, unseen
from tensortap._record.served_requests import Request, UnreadableError
from tensortap._session.notices import Notices
from tensortap._session.session import Session
from tensortap._session.step_boundaries import Facts
from tensortap._spool.folder import SpoolError
from tensortap.integrations import generic

HEALTH_CHECK: Final = "health check"
IDLE: Final = "idle"
WARM_UP: Final = "warm-up"
WARM_UP_REQUEST: Final = "warm-up request"
_MARK: Final = "_tensortap"
_notices: Final = Notices()


@dataclass(frozen=True)
class Step:
    """What an engine knows of a step before it runs."""

    facts: Facts

    def order(self) -> Sequence[str] | None:
        """The names of the requests in the order of the batch's rows, asked once the model is entered. None: not known."""
        return [request.name for request in self.facts.served]

    def hidden(self, model: nn.Module) -> Iterable[tuple[str, str]]:
        """Reasons and parts of the model that no hook saw, asked once it is entered."""
        return ()

    def replayed(self, result: Any) -> bool:
        """Whether the step was the replay of a graph, as its result says."""
        return False


@dataclass(frozen=True)
class Rank:
    """Which rank of all that serve a runner is, as its engine knows it."""

    rank: int
    world_size: int | None = None  # None: not known
    replica: tuple[int, int] | None = None  # which of how many that serve apart from each other, -1 where that is not known; None: torch knows its place


class Served:
    """The tap on one model of an engine. Its calls outside of steps, which warm up and capture, are not recorded."""

    def __init__(self, model: nn.Module, at: Rank, arguments: Mapping[str, object] | None = None) -> None:
        asked = replace(changed(wanted(), rank=at.rank), world_size=at.world_size, replica=at.replica, appends=True, program=arguments or {})
        self._session = Session(asked, model, automatic=False, forwards_begin=False)
        self._model = model
        self._step: Step | None = None
        self._entered = False
        self._first: nn.Module | None = None  # that is called of a model whose own forward is called by its name
        entered = self._session.hook("before a served model", self._enter)
        for part in (model, *model.children()):
            self._session.undo_too(module_calls.before(part, entered, with_kwargs=True))
        self._finish = self._session.hook("after a served step", self._tell_of_end)

    def prepare(self) -> None:
        """The model is ready to serve: what is asked of it before its first request is heard."""
        self._session.prepare()

    def begin(self, step: Step) -> None:
        """A step begins."""
        self._step, self._entered = step, False
        self._session.facts = step.facts
        self._session.start()

    def end(self, result: Any = None, *, raised: bool = False) -> None:
        """It is over."""
        if not raised:
            self._finish(result)
        self._step = None
        self._session.step()

    def not_served(self, what: str) -> None:
        """The model is called, but for no request."""
        self._session.count(unseen.NOT_SERVED, what)

    def beside(self, model: nn.Module) -> None:
        """Another model works for the engine, as one that drafts; it is not recorded."""
        self._session.count(unseen.ANOTHER_MODEL, type(model).__name__)

    def close(self) -> None:
        """The engine is done with the model."""
        self._session.close()

    def _enter(self, part: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._step is None:
            self._first = self._first or part
            if part is self._first:
                self.not_served(WARM_UP)
        elif not self._entered:
            self._entered = True
            self._tell_of_rows(self._step, args, kwargs)

    def _tell_of_rows(self, step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._session.serve(in_order(step.facts.served, step.order()))
        rows, tokens = _rows(args, kwargs), step.facts.tokens
        if rows is not None and tokens is not None and rows > tokens:
            self._session.pad(rows, tokens)
        for reason, subject in step.hidden(self._model):
            self._session.count(reason, subject)

    def _tell_of_end(self, result: Any) -> None:
        step = self._step
        if step is None:
            return
        if not self._entered:
            self._session.serve(in_order(step.facts.served, step.order()))
        if not self._entered or step.replayed(result):
            for name, _ in self._model.named_children():
                self._session.count(unseen.CUDA_GRAPH, name)


def in_order(served: Sequence[Request], names: Sequence[str] | None) -> list[Request]:
    """The requests in the order of their names, with the rows in which they begin, where all have a place in it."""
    by_name = {request.name: request for request in served}
    if names is None or not by_name.keys() <= set(names):
        return list(served)
    placed, row = [], 0
    for name in names:
        if name in by_name:
            placed.append(replace(by_name[name], row=row))
            row += by_name[name].tokens
    return placed


def reader(tokenizer: Callable[[], Any], tokens: Sequence[int]) -> Callable[[], str]:
    """What reads these tokens by the engine's own tokenizer, which is asked for no sooner than that."""

    def read() -> str:
        try:
            known = tokenizer()
            text = None if known is None else str(known.decode(list(tokens)))
        except Exception as error:  # as in Guard: tokenizers are the model's own, and may raise anything
            raise UnreadableError(f"{type(error).__name__}: {error}") from error
        if text is None:
            raise UnreadableError("the engine runs without a tokenizer")
        return text

    return read


def _rows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """How many rows a model is given: of the tokens, or their positions, which may be of several axes."""
    for given in (kwargs.get("positions"), kwargs.get("input_ids"), *args):
        if isinstance(given, Tensor) and given.dim():
            return int(given.shape[-1])
    return None


Begin = Callable[[Any, tuple[Any, ...], dict[str, Any]], tuple[Served, Step] | None]


def steps(owner: type, method: str, begin: Begin) -> None:
    """Let calls of a method be steps: begin is given the object and the arguments, and says of which tap, if of any.

    Whoever looks for models by himself looks no further: the engine knows better.
    """
    original = getattr(owner, method)
    if hasattr(original, _MARK):
        return
    generic.stop()

    @functools.wraps(original)
    def as_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        served = _guarded(_begun, begin, self, args, kwargs)
        if served is None:
            return original(self, *args, **kwargs)
        try:
            result = original(self, *args, **kwargs)
        except BaseException:  # the engine's own, which goes on its way
            served.end(raised=True)
            raise
        served.end(result)
        return result

    setattr(as_step, _MARK, True)
    setattr(owner, method, as_step)


def around(owner: type, method: str, before: Callable[[Any], object] | None = None, after: Callable[[Any], object] | None = None) -> None:
    """Do something of ours before or after a method of an engine's object."""
    original = getattr(owner, method)
    if hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def with_ours(self: Any, *args: Any, **kwargs: Any) -> Any:
        if before:
            _guarded(before, self)
        result = original(self, *args, **kwargs)
        if after:
            _guarded(after, self)
        return result

    setattr(with_ours, _MARK, True)
    setattr(owner, method, with_ours)


def _begun(begin: Begin, runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Served | None:
    begun = begin(runner, args, kwargs)
    if begun is None:
        return None
    served, step = begun
    served.begin(step)
    return served


def _guarded(action: Callable[..., Any], *args: Any) -> Any:
    try:
        return action(*args)
    except (SettingsError, SpoolError) as error:
        _notices.say(f"nothing is recorded: {error}")
    except Exception as error:  # as in Guard: other releases of an engine may have anything in these places
        _notices.say(f"a step is not recorded: {type(error).__name__}: {error}")
    return None


def tap_of(
    runner: Any, model: Callable[[], nn.Module], rank: Callable[[], Rank], arguments: Callable[[], Mapping[str, object]] = dict
) -> Served:
    """The tap on a runner's model, made when it is first asked for."""
    known: Served | None = getattr(runner, _MARK, None)
    if known is None:
        known = Served(model(), rank(), arguments())
        setattr(runner, _MARK, known)
    return known


def close(runner: Any) -> None:
    """End the tap on a runner's model, if there is one."""
    known: Served | None = getattr(runner, _MARK, None)
    if known is not None:
        known.close()
