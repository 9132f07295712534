"""What the agent, or a signal, asks of this process while it runs: looked at once per step, answered in the header."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from tensortap._config.filters import nearest_path
from tensortap._config.settings import CHOICES, Level
from tensortap._record.served_requests import Prompt, Request, UnreadableError, bare
from tensortap._session.step_boundaries import Facts
from tensortap._spool import layout
from tensortap._spool.control_page import ControlPage

_MOST_STEPS: Final = 1 << 20
_EXTENTS: Final[Mapping[Level, int]] = {"debug": 0, "L0": 1, "L1": 1, "mix": 2, "aten": 3}  # how much each records
SIGNAL_STEPS: Final = 2
_LISTS: Final = {"scope": str, "requests": str, "prompts": int, "texts": str}


class RequestError(ValueError):
    """A request that cannot be honoured; its sender is told."""


@dataclass(frozen=True, kw_only=True)
class Detail:
    """More than the settings ask for, for some steps."""

    level: Level = "mix"
    steps: int = 2
    scope: tuple[str, ...] = ()  # patterns of module paths; empty: all
    requests: tuple[str, ...] = ()  # patterns of request ids, of which a step must serve one; empty: any step
    prompts: tuple[int, ...] = ()  # or one with a prompt of such a hash
    texts: tuple[str, ...] = ()  # or with a prompt that holds such a text
    folder: str = ""  # below which raw tensors are kept; empty: none are
    most_bytes: int = 0  # of those

    @property
    def is_choosy(self) -> bool:
        """Whether it matters what a step serves."""
        return bool(self.requests or self.prompts or self.texts)

    def means(self, facts: Facts) -> bool:
        """Whether a step of these facts is meant."""
        return not self.is_choosy or any(self._names(request) for request in facts.served)

    def _names(self, request: Request) -> bool:
        is_named = any(fnmatchcase(request.name, pattern) for pattern in self.requests)
        return is_named or (request.prompt is not None and self._has(request.prompt))

    def _has(self, prompt: Prompt) -> bool:
        if prompt.hash in self.prompts:
            return True
        try:
            return any(bare(text) in prompt.text for text in self.texts)
        except UnreadableError:  # of this one: that others can be read was seen when the request came
            return False


SIGNALLED: Final = Detail(steps=SIGNAL_STEPS)
OVERFLOWED: Final = Detail()


class Control:
    """What is asked of a process, and what becomes of it. The session asks once as each step begins."""

    def __init__(self, page: ControlPage, say: Callable[[str], None], modules: Callable[[], Sequence[str]]) -> None:
        self._page, self._say, self._modules = page, say, modules
        self._sequence = 0  # of the request that was looked at last
        self._unanswered = 0  # of the detail that waits for its first step
        self._asked: Detail | None = None
        self._left = 0
        self._signals = 0
        self._signals_seen = 0
        self.stopped = False

    def signal(self) -> None:
        """A signal asks for detail. Called between any two instructions, so it only counts."""
        self._signals += 1

    def next_step(self, step: int, facts: Facts) -> Detail | None:
        """The detail that the step which begins is recorded with, if with any."""
        if self._page.sequence() != self._sequence:
            self._look(step, facts)
        if self._signals != self._signals_seen and self._asked is None:
            self._signals_seen = self._signals
            self._asked, self._left = SIGNALLED, SIGNAL_STEPS
        asked = self._asked
        if asked is None or not asked.means(facts):
            return None
        self._take(step, asked)
        return asked

    def _take(self, step: int, asked: Detail) -> None:
        if self._left == asked.steps:
            self._say(_told(asked, step))
            if self._unanswered:
                self._page.answer(self._unanswered, layout.RECORDING, step)
                self._unanswered = 0
        self._left -= 1
        if not self._left:
            self._asked = None

    def _look(self, step: int, facts: Facts) -> None:
        request = self._page.request()
        if request is None:  # being written: the next step looks again
            return
        self._sequence, text = request
        try:
            self._follow(read(text), step, facts)
        except RequestError as error:
            self._page.answer(self._sequence, layout.REFUSED, step, str(error))

    def _follow(self, asked: Detail | bool, step: int, facts: Facts) -> None:
        if isinstance(asked, Detail):
            _check_scope(asked.scope, self._modules())
            _check_served(asked, facts.served)
            self._asked, self._left, self._unanswered = asked, asked.steps, self._sequence
            if asked.is_choosy:
                self._page.answer(self._sequence, layout.AWAITING, step)
            return
        self.stopped, self._unanswered = asked, 0
        if asked:
            self._asked, self._left = None, 0
        self._say(f"nothing is recorded from step {step} on, as was asked" if asked else f"steps from {step} on are recorded again, as was asked")
        self._page.answer(self._sequence, layout.STOPPED if asked else layout.RESUMED, step)


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
    if asked.is_choosy and not served:
        raise RequestError("steps of this program serve no requests that are known: ask for its next steps, or for a scope, and not for requests or prompts")
    if asked.texts:
        _check_readable([request.prompt for request in served if request.prompt])


def _check_readable(prompts: Sequence[Prompt]) -> None:
    """Read one. The first that is ever read waits for a tokenizer."""
    if not prompts:
        raise RequestError("prompts are not known here; choose by --request")
    try:
        _ = prompts[0].text
    except UnreadableError as error:
        raise RequestError(f"prompts cannot be read here, choose by --request or --prompt-hash: {error}") from error


def _detail(request: Mapping[str, Any]) -> Detail:
    unknown = sorted(request.keys() - Detail.__dataclass_fields__.keys())
    if unknown:
        raise RequestError(f"{unknown[0]} is unknown here: the agent may be of a later release")
    lists = {name: tuple(_list(name, request[name], kind)) for name, kind in _LISTS.items() if name in request}
    detail = Detail(**{**request, **lists})
    if detail.level not in CHOICES["level"] or detail.level == "debug":
        raise RequestError(f"level {detail.level!r} is unknown here")
    if type(detail.steps) is not int or not 1 <= detail.steps <= _MOST_STEPS:
        raise RequestError(f"{detail.steps!r} steps: want 1 to {_MOST_STEPS}")
    if not isinstance(detail.folder, str) or type(detail.most_bytes) is not int:
        raise RequestError("folder and most_bytes are a text and a number")
    if not all(map(bare, detail.texts)):
        raise RequestError("every prompt holds a text of white space alone")
    return detail


def _list(name: str, value: object, kind: type) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(part, kind) for part in value):
        raise RequestError(f"{name} is no list of such values")
    return value


def _told(asked: Detail, step: int) -> str:
    where = f" of {', '.join(asked.scope)}" if asked.scope else ""
    kept = f", raw tensors below {asked.folder}" if asked.folder else ""
    count = "1 step is" if asked.steps == 1 else f"{asked.steps} steps are"
    return f"{count} recorded at level {asked.level}{where} from step {step} on, as was asked{kept}"
