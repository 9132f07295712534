"""Which modules, ops, values and steps a tap records. Patterns that match nothing are told, once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from fnmatch import translate
from itertools import islice
from typing import Final

from tensortap._config import risk_levels
from tensortap._config.settings import Settings
from tensortap._health.topology import Place

_CALL: Final = re.compile(r"\.\d+(?=\.|$)")
_MOST_REMEMBERED: Final = 1 << 17
_MOST_NEAR: Final = 2000  # modules that one is looked for among: the model waits meanwhile
_INPUTS: Final = frozenset(("input", "kwarg"))


class Filter:
    """Answers for one tap. Not thread-safe: asked under the session's lock, in the order in which ops begin."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._scope = [(pattern, re.compile(translate(pattern))) for pattern in settings.scope]
        self._ops = [(pattern, re.compile(translate(pattern))) for pattern in settings.ops]
        self._unmatched = {*settings.scope, *settings.ops, *settings.names, *(settings.between or ())}
        self._wanted: dict[tuple[str, str], bool] = {}
        self._classes: dict[str, str] = {}
        self._nearest: dict[str, str] = {}
        self._between = Between(*settings.between) if settings.between else None
        self._step_wanted = False
        self._wider: list[tuple[str, re.Pattern[str]]] = []
        self._records: str | None = settings.level

    def widen(self, scope: Iterable[str], records: str | None) -> None:
        """Want all within these modules, too, and beside it what the settings want of a level; None: nothing else.

        Without a scope what the settings leave out stays out.
        """
        self._wider = [(pattern, re.compile(translate(pattern))) for pattern in scope]
        self._records = records
        self._wanted.clear()

    @property
    def sees_all(self) -> bool:
        """Whether every op is wanted, so that no one needs to ask for each."""
        asked = self._settings
        return not self._wider and not (asked.scope or asked.ops or asked.names or asked.between) and asked.risk == "ALL"

    @property
    def values_all(self) -> bool:
        """Whether every value of a wanted op is wanted."""
        return self._settings.direction == self._settings.values == "both"

    def wants_step(self, step: int) -> bool:
        """Whether a step is recorded; to be asked once as each step begins, recorded or not."""
        if self._between:
            self._between.begin_step()
        wanted = self._settings.steps(step)
        self._step_wanted = self._step_wanted or wanted
        return wanted

    def wants_module(self, path: str, cls: str) -> bool:
        """Whether the module at a path needs hooks; asked for each module once, before the first op."""
        self._classes[path] = cls
        return self.is_within(path) or (self._has_base("Module.") and self._in_scope(path))

    def is_meant(self, path: str) -> bool:
        """Whether an op that is recorded is of what more is asked for: all is, where no scope was given."""
        return not self._wider or self.is_within(path)

    def is_within(self, path: str) -> bool:
        """Whether a module is within what the settings were widened by."""
        enclosing = _enclosing(path)
        return any(compiled.match(text) for _, compiled in self._wider for text in enclosing)

    def wants_op(self, name: str, module_path: str) -> bool:
        """Whether an op is recorded, by its full name and the path of the module that calls it or that it is."""
        if self.sees_all:
            return True
        if self._between and not self._between.passes(name):
            return self.is_within(module_path)
        key = (name, module_path)
        wanted = self._wanted.get(key)
        if wanted is None:
            wanted = self._judge(name, module_path)
            if len(self._wanted) < _MOST_REMEMBERED:
                self._wanted[key] = wanted
        return wanted

    @property
    def has_range(self) -> bool:
        """Whether an op's end may change what is wanted."""
        return self._between is not None

    def ends_op(self, name: str) -> None:
        """An op, recorded or not, is complete; moves the range of msProbe's scope on."""
        if self._between:
            self._between.ends(name)

    def wants_value(self, phase: str, role: str) -> bool:
        """Whether a value is recorded: phase forward or backward, role as of a site."""
        half = "input" if role in _INPUTS else "output"
        return self._settings.direction in (phase, "both") and self._settings.values in (half, "both")

    def unmatched(self) -> list[str]:
        """The patterns that have matched nothing so far, in words that say what to do."""
        found = self._between.seen if self._between else frozenset[str]()
        missing = [_told(pattern, self._settings, self._nearest_to(pattern)) for pattern in sorted(self._unmatched - found)]
        if not self._step_wanted and self._settings.steps.ranges is not None:
            missing.append(f"steps {self._settings.steps}: no step had such a number")
        if self._between and self._between.reversed:
            first, last = self._settings.between or ("", "")
            missing.append(f"scope [{first}, {last}]: {last} ran before {first}; from the next step on they change places")
        return missing

    def _has_base(self, name: str) -> bool:
        """Whether an op is of the level that the settings name. Only a narrow scope makes that a question."""
        if not self._wider:
            return True
        without = ("L1", "debug", None) if name.startswith("Module.") else ("L0", "debug", None)
        return self._records not in without or (self._records == "debug" and name.endswith(".debug"))

    def _judge(self, name: str, module_path: str) -> bool:
        return self.is_within(module_path) or (
            self._has_base(name)
            and self._in_scope(module_path)
            and (not self._ops or name.startswith("Module.") or self._any(self._ops, _forms(name)))
            and (not self._settings.names or self._named(name, module_path))
            and risk_levels.wants(self._settings.risk, name)
        )

    def _in_scope(self, path: str) -> bool:
        return not self._scope or self._any(self._scope, _enclosing(path))

    def _any(self, patterns: list[tuple[str, re.Pattern[str]]], texts: Iterable[str]) -> bool:
        texts = list(texts)
        found = [pattern for pattern, compiled in patterns if any(compiled.match(text) for text in texts)]
        self._unmatched.difference_update(found)
        return bool(found)

    def _nearest_to(self, pattern: str) -> str:
        """The module whose path is most like a pattern of paths, looked for once; empty when none is."""
        if pattern in self._settings.scope and self._classes and pattern not in self._nearest:
            self._nearest[pattern] = nearest_path(pattern, self._classes)
        return self._nearest.get(pattern, "")

    def _named(self, name: str, module_path: str) -> bool:
        texts = [name, *(self._module_names(module_path) if self._settings.level == "mix" else ())]
        found = [part for part in self._settings.names if any(part in text for text in texts)]
        self._unmatched.difference_update(found)
        return bool(found)

    def _module_names(self, module_path: str) -> list[str]:
        paths = [path for path in _enclosing(module_path) if path in self._classes]
        return [f"Module.{path}.{self._classes[path]}.forward.0" for path in paths]


def nearest_path(pattern: str, paths: Iterable[str]) -> str:
    """The path of a module that is most like a pattern; empty when none is."""
    near = difflib.get_close_matches(pattern, islice(paths, _MOST_NEAR), n=1, cutoff=0.5)
    return near[0] if near else ""


def stranger(settings: Settings, place: Place) -> str:
    """Why no process of this run is meant by the ranks asked for; empty when some is."""
    if place.world_size is None or any(settings.ranks(rank) for rank in range(place.world_size)):
        return ""
    alone = "" if place.distributed else ", which is not distributed"
    return f"ranks {settings.ranks}: this is rank {place.rank} of {place.world_size}{alone}; nothing is recorded"


class Between:
    """The ops from a first to a last one, both inclusive, in each step anew; a range given in reverse is noticed."""

    def __init__(self, first: str, last: str) -> None:
        self.first, self.last = first, last
        self.seen: set[str] = set()
        self.reversed = False
        self._open = self._closed = self._turned = False

    def begin_step(self) -> None:
        """Nothing of the last step is carried on; a range found to be reversed is turned round."""
        if self.reversed and not self._turned:
            self.first, self.last, self._turned = self.last, self.first, True
        self._open = self._closed = False

    def passes(self, name: str) -> bool:
        """Whether an op that begins now is inside."""
        if name == self.first:
            self.seen.add(name)
            self._open = not self._closed
            self.reversed = self.reversed or self._closed
        return self._open

    def ends(self, name: str) -> None:
        """An op is complete."""
        if name == self.last:
            self.seen.add(name)
            self._open, self._closed = False, True


def _enclosing(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


def _forms(name: str) -> list[str]:
    """An op's full name, Prefix.api and api alone."""
    short = _CALL.split(name, maxsplit=1)[0]
    return [name, short, short.partition(".")[2]]


def _told(pattern: str, asked: Settings, near: str) -> str:
    if asked.between and pattern in asked.between:
        return f"scope name {pattern}: no op has this name; names end in the call's number, as in dump.json"
    if pattern in asked.names:
        return f"list entry {pattern}: no op's name contains it; upper and lower case differ"
    kind = "scope" if pattern in asked.scope else "ops"
    meant = f"do you mean {near}? " if near else ""
    return f"{kind} pattern {pattern}: matched nothing; {meant}* stands for any characters"
