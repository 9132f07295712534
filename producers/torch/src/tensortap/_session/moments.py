"""Whether a step that begins fulfils conditions, by what is known of it then."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Final, NamedTuple

from tensortap._config.conditions import OF_REQUESTS, Condition, Term, When
from tensortap._config.step_ranges import parse_steps
from tensortap._record.served_requests import Prompt, Request, UnreadableError, bare, client_name
from tensortap._session.measures import Measures
from tensortap._session.step_boundaries import Facts

_MOST_PROMPTS: Final = 1 << 16


class Moment(NamedTuple):
    """A step that begins."""

    step: int
    facts: Facts
    phase_ahead: Callable[[], str]  # for steps of which the application tells no phase
    measures: Measures

    @property
    def phase(self) -> str:
        """Empty where it is not known."""
        return self.facts.phase or self.phase_ahead()


OfRequest = Callable[[Request], bool]
OfMoment = Callable[[Moment], bool]


class Test:
    """Conditions, made ready to be asked at each step."""

    def __init__(self, when: When) -> None:
        self.words = when.words
        self._terms = [_Term(term) for term in when.terms]

    @property
    def of_requests(self) -> bool:
        """Whether it matters what a step serves."""
        return not self.words.isdisjoint(OF_REQUESTS)

    def unmet(self, moment: Moment) -> str:
        """The first condition that does not hold; empty where all do."""
        unmet = ""
        for term in self._terms:
            missing = term.unmet(moment)
            if not missing:
                return ""
            unmet = unmet or missing
        return unmet


class _Term:
    """Conditions that are to hold together: those of requests for one and the same request."""

    def __init__(self, term: Term) -> None:
        of_requests = [condition for condition in term if condition.word in OF_REQUESTS]
        self._of_requests = [_REQUESTS[condition.word](condition.values) for condition in of_requests]
        self._requests_text = ", ".join(map(str, of_requests))
        self._others = [(str(condition), _of_moment(condition)) for condition in term if condition.word not in OF_REQUESTS]

    def unmet(self, moment: Moment) -> str:
        for text, holds in self._others:
            if not holds(moment):
                return text
        return "" if not self._of_requests or self._serves(moment.facts.served) else self._requests_text

    def _serves(self, served: Iterable[Request]) -> bool:
        return any(all(fits(request) for fits in self._of_requests) for request in served)


def exceeds(value: float | None, limit: float) -> bool:
    """Whether a value is known and greater; NaN is greater than any."""
    return value is not None and (math.isnan(value) or value > limit)


def _of_moment(condition: Condition) -> OfMoment:
    word, values = condition.word, condition.values
    if word == "step":
        steps = parse_steps(",".join(values))
        return lambda moment: steps(moment.step)
    if word == "phase":
        return lambda moment: moment.phase in values
    limit, reading = float(values[0]), _READINGS[word]
    return lambda moment: exceeds(reading(moment), limit)


_READINGS: Final[Mapping[str, Callable[[Moment], float | None]]] = {
    "loss": lambda moment: moment.measures.loss(moment.step),
    "memory": lambda moment: moment.measures.memory(moment.step).most,
    "host-memory": lambda moment: moment.measures.memory(moment.step).host,
}


def _named(patterns: Iterable[str]) -> OfRequest:
    compiled = [re.compile(translate(pattern)) for pattern in patterns]
    return lambda request: any(pattern.match(name) for name in (request.name, client_name(request.name)) for pattern in compiled)


def _hashed(hashes: Iterable[str]) -> OfRequest:
    wanted = frozenset(int(text, 16) for text in hashes)
    return lambda request: request.prompt is not None and request.prompt.hash in wanted


def _says(texts: Iterable[str]) -> OfRequest:
    wanted = [bare(text) for text in texts]
    known: dict[int, bool] = {}  # by the hash of a prompt, which each step of a request has

    def says(prompt: Prompt) -> bool:
        try:
            return any(text in prompt.text for text in wanted)
        except UnreadableError:  # of this one: whether any can be read is told otherwise
            return False

    def said(request: Request) -> bool:
        if request.prompt is None:
            return False
        if request.prompt.hash not in known:
            if len(known) >= _MOST_PROMPTS:
                known.clear()
            known[request.prompt.hash] = says(request.prompt)
        return known[request.prompt.hash]

    return said


_REQUESTS: Final[Mapping[str, Callable[[Iterable[str]], OfRequest]]] = {"request": _named, "prompt": _says, "prompt-hash": _hashed}
