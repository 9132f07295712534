"""The conditions of the settings: which steps they leave out, and what was seen instead where they meant none."""

from __future__ import annotations

import difflib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from tensortap._config.conditions import When
from tensortap._record.served_requests import Request, unreadable
from tensortap._session.measures import OF_MEMORY, Measures, greater
from tensortap._session.moments import Moment, Test

_MOST_IDS: Final = 2048  # of requests, the latest, among which the nearest are looked for
_NEAREST: Final = 3
_LONGEST_NAME: Final = 100
_UNITS: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1, "B"))


class Standing:
    """Asked once for each step that is wanted otherwise."""

    def __init__(self, when: When, measures: Measures, say: Callable[[str], None]) -> None:
        self._when, self._say = when, say
        self._test = Test(when)
        measures.need(when.words)
        self._met = self._checked = False
        self._seen = Seen()

    def unmet(self, moment: Moment) -> str:
        """The condition that the step does not fulfil; empty where it fulfils all."""
        unmet = self._test.unmet(moment)
        if not unmet:
            self._first(moment)
            return ""
        if not self._met:
            self._seen.note(moment, self._when.words)
            self._check(moment.facts.served)
        return unmet

    def never(self) -> str:
        """What to say at the end, where no step was meant; empty where one was, or there was none."""
        if self._met or not self._seen.steps:
            return ""
        steps = "1 step was" if self._seen.steps == 1 else f"{self._seen.steps} steps were"
        return f"nothing is recorded: no step fulfilled {self._when}; {steps} left out{self._seen.told(self._when)}"

    def _check(self, served: Sequence[Request]) -> None:
        """Tell at the first step what will never be known."""
        if self._checked:
            return
        self._checked = True
        if self._test.of_requests and not served:
            self._say(f"{self._when}: steps of this program serve no requests that are known, as those of an engine do")
        elif "prompt" in self._when.words and (problem := unreadable(served)):
            self._say(f"{self._when}: {problem}")

    def _first(self, moment: Moment) -> None:
        if self._met:
            return
        self._met = True
        own = "; other ranks go by their own" if self._when.words & (OF_MEMORY | {"loss"}) else ""
        self._say(f"step {moment.step} is the first that fulfils {self._when}{own}")


class Seen:
    """What steps had that were left out."""

    def __init__(self) -> None:
        self.steps = 0
        self._last = 0
        self._loss: float | None = None
        self._memory = self._host = 0
        self._phases: set[str] = set()
        self._ids: OrderedDict[str, None] = OrderedDict()

    def note(self, moment: Moment, words: frozenset[str]) -> None:
        """A step is left out by conditions of these words."""
        self.steps += 1
        self._last = moment.step
        self._phases.add(moment.phase)
        if "loss" in words and (loss := moment.measures.loss(moment.step)) is not None:
            self._loss = greater(self._loss, loss)
        if words & OF_MEMORY:
            most, host = moment.measures.memory(moment.step)
            self._memory, self._host = max(self._memory, most), max(self._host, host)
        for request in moment.facts.served:
            self._ids[request.name] = None
            self._ids.move_to_end(request.name)
        while len(self._ids) > _MOST_IDS:
            self._ids.popitem(last=False)

    def told(self, when: When) -> str:
        """In words, as far as it is asked about."""
        known = {
            "request": lambda: self._requests(when),
            "prompt": lambda: self._requests(when),
            "prompt-hash": lambda: self._requests(when),
            "step": lambda: f"the last step was {self._last}",
            "phase": lambda: f"phases seen: {', '.join(sorted(filter(None, self._phases))) or 'none that is known'}",
            "loss": lambda: "no loss was seen" if self._loss is None else f"the highest loss was {self._loss:.6g}",
            "memory": lambda: f"the highest memory was {_shown(self._memory)}",
            "host-memory": lambda: f"the highest host memory was {_shown(self._host)}",
        }
        return "".join(f"; {text}" for text in dict.fromkeys(known[word]() for word in known if word in when.words))

    def _requests(self, when: When) -> str:
        if not self._ids:
            return "no request was seen"
        asked = [value for term in when.terms for condition in term if condition.word == "request" for value in condition.values]
        near = [name for pattern in asked for name in difflib.get_close_matches(pattern, self._ids, n=_NEAREST, cutoff=0.3)]
        named = [_printable(name) for name in list(dict.fromkeys(near))[:_NEAREST] or list(self._ids)[-_NEAREST:]]
        count = "1 request was" if len(self._ids) == 1 else f"{len(self._ids)} requests were"
        return f"{count} seen, {'nearest' if near else 'last'} {', '.join(named)}"


def _printable(name: str) -> str:
    """A name that users of a server gave: none of it moves the cursor of a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in name[:_LONGEST_NAME])


def _shown(size: int) -> str:
    unit, name = next((unit, name) for unit, name in _UNITS if size >= unit or unit == 1)
    return f"{size / unit:.4g} {name}"
