"""What the agent, or a signal, asks to be recorded: more of some steps, nothing, or as the settings say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final

from tensortap._config.conditions import ALWAYS, When, either, parse
from tensortap._config.filters import nearest_path
from tensortap._config.settings import CHOICES, Level
from tensortap._record.served_requests import Request, bare, unreadable
from tensortap._session.inbox import Asked
from tensortap._session.moments import Moment, Test
from tensortap._spool import layout

_MOST_STEPS: Final = 1 << 20
_EXTENTS: Final[Mapping[Level, int]] = {"debug": 0, "tokens": 1, "L0": 2, "L1": 2, "mix": 3, "aten": 4}  # how much each records
SIGNAL_STEPS: Final = 2
_LISTS: Final = {"scope": str, "requests": str, "prompts": int, "texts": str}
_SHORT: Final = {"requests": "request", "prompts": "prompt-hash", "texts": "prompt"}  # keys whose lists stand for conditions, of which one is to hold


class RequestError(ValueError):
    """A request that cannot be honoured; its sender is told."""


@dataclass(frozen=True, kw_only=True)
class Detail:
    """More than the settings ask for, for some steps."""

    level: Level = "mix"
    steps: int = 2
    scope: tuple[str, ...] = ()  # patterns of module paths; empty: all
    when: When = ALWAYS  # of steps that fulfil this
    folder: str = ""  # below which raw tensors are kept; empty: none are
    most_bytes: int = 0  # of those

    @cached_property
    def test(self) -> Test:
        """The conditions, made ready to be asked."""
        return Test(self.when)


SIGNALLED: Final = Detail(steps=SIGNAL_STEPS)
OVERFLOWED: Final = Detail()


class Control:
    """What is asked to be recorded, and what becomes of it. The session asks once as each step begins."""

    def __init__(self, answer: Callable[..., None], say: Callable[[str], None], modules: Callable[[], Sequence[str]]) -> None:
        """Answers are as those of an Inbox."""
        self._answer, self._say, self._modules = answer, say, modules
        self._asked: Detail | None = None
        self._waiting = 0  # the request for that detail, until its first step
        self._left = 0
        self._signals = 0
        self._signals_seen = 0
        self.stopped = False

    def signal(self) -> None:
        """A signal asks for detail. Called between any two instructions, so it only counts."""
        self._signals += 1

    def follow(self, asked: Asked, moment: Moment) -> None:
        """Follow a request from the step on that begins, or refuse it."""
        try:
            self._follow(asked.sequence, read(asked.text), moment)
        except RequestError as error:
            self._answer(asked.sequence, layout.REFUSED, moment.step, str(error))

    def can_follow(self, asked: Asked) -> bool:
        """Whether this asks for detail that a step can have, as far as is known before it begins. Any thread may ask."""
        try:
            wanted = read(asked.text)
            if isinstance(wanted, Detail):
                _check_scope(wanted.scope, self._modules())
        except RequestError:  # which is told as the step begins
            return False
        return isinstance(wanted, Detail)

    def told(self, asked: Asked) -> None:
        """The agent has something to tell whoever started this program: why it takes none of its records, and with final that it never will."""
        told = json.loads(asked.text)
        self.stopped = self.stopped or bool(told.get("final"))
        self._say(str(told.get("text")))
        self._answer(asked.sequence, layout.STOPPED if self.stopped else layout.RESUMED, 0)

    def next_step(self, moment: Moment) -> Detail | None:
        """The detail that the step which begins is recorded with, if with any."""
        if self._signals != self._signals_seen and self._asked is None:
            self._signals_seen = self._signals
            self._asked, self._left = SIGNALLED, SIGNAL_STEPS
        asked = self._asked
        if asked is None or asked.test.unmet(moment):
            return None
        self._take(moment.step, asked)
        return asked

    def _take(self, step: int, asked: Detail) -> None:
        if self._left == asked.steps:
            self._say(_told(asked, step))
            if self._waiting:
                self._answer(self._waiting, layout.RECORDING, step)
            self._waiting = 0
        self._left -= 1
        if not self._left:
            self._asked = None

    def _follow(self, sequence: int, asked: Detail | bool, moment: Moment) -> None:
        if isinstance(asked, Detail):
            self._await(sequence, asked, moment)
            return
        step, self.stopped = moment.step, asked
        if asked:
            self._give_up(step)
        self._say(f"nothing is recorded from step {step} on, as was asked" if asked else f"steps from {step} on are recorded again, as was asked")
        self._answer(sequence, layout.STOPPED if asked else layout.RESUMED, step)

    def _await(self, sequence: int, asked: Detail, moment: Moment) -> None:
        _check_scope(asked.scope, self._modules())
        _check_served(asked, moment.facts.served)
        moment.measures.need(asked.when.words)
        self._give_up(moment.step)
        self._asked, self._left, self._waiting = asked, asked.steps, sequence
        if asked.when != ALWAYS:
            self._answer(sequence, layout.AWAITING, moment.step)

    def _give_up(self, step: int) -> None:
        """The detail that was asked for before, whose sender may wait for its first step."""
        if self._waiting:
            self._answer(self._waiting, layout.REFUSED, step, "a later request took its place before a step was recorded for it")
        self._asked, self._left, self._waiting = None, 0, 0


def read(text: bytes) -> Detail | bool:
    """What a request asks for: detail, or that recording stops (True) or goes on (False)."""
    try:
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the request is no JSON: {error}") from error
    if not isinstance(request, dict):
        raise RequestError("the request is no object")
    match request.pop("do", None):
        case "stop":
            return True
        case "resume":
            return False
        case "capture":
            return _detail(request)
        case other:
            raise RequestError(f"{other!r} is unknown here: the agent may be of a later release")


def together(base: Level, asked: Level) -> Level:
    """The level that records what both do."""
    return "mix" if {base, asked} == {"L0", "L1"} else max(base, asked, key=_EXTENTS.__getitem__)


def _check_scope(scope: tuple[str, ...], modules: Sequence[str]) -> None:
    for pattern in scope:
        if not any(fnmatchcase(path, pattern) for path in modules):
            near = nearest_path(pattern, modules)
            raise RequestError(f"scope {pattern}: no module has such a path" + (f"; do you mean {near}?" if near else ""))


def _check_served(asked: Detail, served: Sequence[Request]) -> None:
    """Refuse what no step will ever be known to serve. A step that serves nothing is none of an engine's."""
    if asked.test.of_requests and not served:
        raise RequestError("steps of this program serve no requests that are known: ask for its next steps, or for a scope, and not for requests or prompts")
    if "prompt" in asked.when.words and (problem := unreadable(served)):
        raise RequestError(problem)


def _detail(request: Mapping[str, Any]) -> Detail:
    unknown = sorted(request.keys() - Detail.__dataclass_fields__.keys() - _SHORT.keys())
    if unknown:
        raise RequestError(f"{unknown[0]} is unknown here: the agent may be of a later release")
    lists = {name: tuple(_list(name, request[name], kind)) for name, kind in _LISTS.items() if name in request}
    others = {name: value for name, value in request.items() if name not in _LISTS}
    detail = Detail(**{**others, "scope": lists.get("scope", ()), "when": _conditions(request.get("when", ""), lists)})
    if detail.level not in CHOICES["level"] or detail.level == "debug":
        raise RequestError(f"level {detail.level!r} is unknown here")
    if type(detail.steps) is not int or not 1 <= detail.steps <= _MOST_STEPS:
        raise RequestError(f"{detail.steps!r} steps: want 1 to {_MOST_STEPS}")
    if not isinstance(detail.folder, str) or type(detail.most_bytes) is not int:
        raise RequestError("folder and most_bytes are a text and a number")
    return detail


def _conditions(text: object, lists: Mapping[str, Sequence[Any]]) -> When:
    """What is written, and one of what the lists stand for."""
    if not all(map(bare, lists.get("texts", ()))):
        raise RequestError("every prompt holds a text of white space alone")
    hashes = [f"{number:016x}" for number in lists.get("prompts", ())]  # as conditions have them
    short = sum((either(word, hashes if key == "prompts" else lists.get(key, ())) for key, word in _SHORT.items()), ())
    try:
        written = parse(text) if isinstance(text, str) and text else ALWAYS
        when = written.both(When(short)) if short else written
    except ValueError as error:
        raise RequestError(f"when: {error}") from error
    if not isinstance(text, str) or "difference" in when.words:
        raise RequestError("when: want a text of conditions, and no difference, for which there is tensortap watch --capture")
    return when


def _list(name: str, value: object, kind: type) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(part, kind) for part in value):
        raise RequestError(f"{name} is no list of such values")
    return value


def _told(asked: Detail, step: int) -> str:
    where = f" of {', '.join(asked.scope)}" if asked.scope else ""
    kept = f", raw tensors below {asked.folder}" if asked.folder else ""
    count = "1 step is" if asked.steps == 1 else f"{asked.steps} steps are"
    return f"{count} recorded at level {asked.level}{where} from step {step} on, as was asked{kept}"
