"""The language of conditions, by which a user says which steps are meant: `request=cmpl-7, phase=decode or loss>10`.

internal/conditions reads the same text in Go; tests/testdata/conditions.json has the cases that both must pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

OF_REQUESTS: Final = ("request", "prompt", "prompt-hash")  # which one request must fulfil together
WORDS: Final[Mapping[str, str]] = {  # of conditions, each as it is written
    "request": "request=cmpl-7*",
    "prompt": 'prompt="the blue sky"',
    "prompt-hash": "prompt-hash=00000000000004d2",
    "step": "step=0|10-20",
    "phase": "phase=decode",
    "loss": "loss>10",
    "memory": "memory>70GiB",
    "host-memory": "host-memory>200GiB",
    "difference": "difference",
}
PHASES: Final = ("prefill", "decode", "mixed", "train", "evaluate")
MOST_TERMS: Final = 64
_GREATEST_STEP: Final = (1 << 32) - 1
_UNITS: Final = {"": 1} | {
    f"{letter}{i}b".lower(): base**power for i, base in (("", 1000), ("i", 1024)) for power, letter in enumerate(("", "k", "m", "g", "t")) if letter or not i
}
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_BARE: Final = re.compile(r"[^\s,|\"'\\]+")
_HASH: Final = re.compile(r"[0-9a-f]{16}")
_STEPS: Final = re.compile(r"([0-9]{1,10})(?:-([0-9]{0,10}))?(?:/([0-9]{1,10}))?")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_SIZE: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)([A-Za-z]*)")


@dataclass(frozen=True)
class Condition:
    """One word, and the values of which one is to hold. Those of memory are in bytes."""

    word: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        sign = WORDS[self.word].removeprefix(self.word)[:1]
        return self.word + sign + "|".join(map(_written, self.values))


Term = tuple[Condition, ...]


@dataclass(frozen=True)
class When:
    """Conditions: all of a term are to hold, and one of the terms."""

    terms: tuple[Term, ...] = ((),)

    def __str__(self) -> str:
        return " or ".join(", ".join(map(str, term)) for term in self.terms)

    @property
    def words(self) -> frozenset[str]:
        """What is asked about."""
        return frozenset(condition.word for term in self.terms for condition in term)

    def both(self, other: When) -> When:
        """What is meant by both. Raises ValueError beyond the limit of terms."""
        if len(self.terms) * len(other.terms) > MOST_TERMS:
            raise ValueError(f"more than {MOST_TERMS} alternatives")
        return When(tuple(one + further for one in self.terms for further in other.terms))


ALWAYS: Final = When()


def either(word: str, values: Iterable[object]) -> tuple[Term, ...]:
    """A term of a word with these values, if there are any."""
    texts = tuple(map(str, values))
    return ((Condition(word, texts),),) if texts else ()


def parse(text: str) -> When:
    """Read conditions. Raises ValueError that says at which character what is wrong, and what is meant."""
    return _Reader(text).read()


def parse_all(given: object) -> When:
    """Read a text, or several that are to hold together. Raises ValueError or TypeError."""
    if isinstance(given, When):
        return given
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{given!r} is no condition, and no list of such texts")
    when = ALWAYS
    for text in texts:
        when = when.both(parse(text))
    return when


def standing(given: object) -> When:
    """Read what is to hold from the beginning of a run. Raises ValueError or TypeError."""
    when = parse_all(given)
    if "difference" in when.words:
        raise ValueError("difference is found by a live comparison: give it to tensortap run, with --bench")
    return when


def nearest(word: str, known: Sequence[str]) -> str:
    """The known word that fewest changes of a letter make of this one, in words; else all that are known."""
    near = min(known, key=lambda one: _changes(word.lower(), one))
    if _changes(word.lower(), near) <= len(near) // 3 + 1:
        return f"do you mean {near}?"
    return f"known are {', '.join(known)}"


class _Reader:
    """Reads from the first character to the last."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self) -> When:
        terms = [[self._condition()]]
        while self._skip():
            if self._takes("or"):
                terms.append([self._condition()])
            elif self._takes(",") or self._takes("and"):
                terms[-1].append(self._condition())
            else:
                raise self._wrong(self._at, "want a comma, and, or; text with white space stands in quotation marks")
        if len(terms) > MOST_TERMS:
            raise ValueError(f"more than {MOST_TERMS} alternatives")
        return When(tuple(map(tuple, terms)))

    def _condition(self) -> Condition:
        self._skip()
        begin, word = self._at, self._match(_WORD)
        if not word:
            raise self._wrong(begin, "want a condition, as request=cmpl-7 or loss>10; several values stand as a|b")
        if word not in WORDS:
            raise self._wrong(begin, f"{word} is no condition: {nearest(word, tuple(WORDS))}")
        return Condition(word, tuple(self._values(word, WORDS[word].removeprefix(word)[:1])))

    def _values(self, word: str, sign: str) -> Iterator[str]:
        if not sign:
            return
        self._skip()
        if not self._takes(sign):
            raise self._wrong(self._at, f"{word} goes with {sign}, as {WORDS[word]}")
        yield self._value(word)
        while sign == "=" and self._skip() and self._takes("|"):
            yield self._value(word)

    def _value(self, word: str) -> str:
        self._skip()
        begin = self._at
        value = self._quoted() if self._text[begin : begin + 1] in ("'", '"') and begin < len(self._text) else self._match(_BARE)
        if not value:
            raise self._wrong(begin, f"{word} has no value, as {WORDS[word]}")
        try:
            return _CHECKS[word](value)
        except ValueError as error:
            raise self._wrong(begin, str(error)) from error

    def _quoted(self) -> str:
        begin, mark = self._at, self._text[self._at]
        found = re.compile(rf"{mark}((?:[^\\{mark}]|\\.)*){mark}", re.DOTALL).match(self._text, begin)
        if found is None:
            raise self._wrong(begin, f"the quotation has no second {mark}")
        self._at = found.end()
        return re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL)

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found[0] if found else ""

    def _takes(self, mark: str) -> bool:
        end = self._at + len(mark)
        if self._text[self._at : end] != mark or (mark.isalpha() and self._text[end : end + 1].strip()):
            return False
        self._at = end
        return True

    def _skip(self) -> bool:
        """Pass over white space. Whether anything is left."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at < len(self._text)

    @staticmethod
    def _wrong(at: int, what: str) -> ValueError:
        return ValueError(f"at character {at + 1}: {what}")


def _written(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _changes(one: str, other: str) -> int:
    """Of letters, until one word is the other."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one):
        before, row = row, [at + 1]
        for place, wanted in enumerate(other):
            row.append(min(row[-1] + 1, before[place + 1] + 1, before[place] + (letter != wanted)))
    return row[-1]


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("white space alone is in every prompt")
    return value


def _hash(value: str) -> str:
    if not _HASH.fullmatch(value):
        raise ValueError(f"{value} is no prompt_hash as reports show it, 16 hexadecimal digits")
    return value


def _steps(value: str) -> str:
    found = _STEPS.fullmatch(value)
    first, last, every = found.groups() if found else ("", None, None)
    numbers = [int(number) for number in (first, last, every) if number]
    if not found or max(numbers) > _GREATEST_STEP or (last and int(last) < int(first)) or (every and not int(every)):
        raise ValueError(f"{value} is no step: write 3, 3-5, 10-100/10 or 10-")
    return value


def _phase(value: str) -> str:
    if value not in PHASES:
        raise ValueError(f"{value} is no phase: {nearest(value, PHASES)}")
    return value


def _number(value: str) -> str:
    if not _NUMBER.fullmatch(value):
        raise ValueError(f"{value} is no number")
    return value


def _bytes(value: str) -> str:
    found = _SIZE.fullmatch(value)
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise ValueError(f"{value} is no size, as 70GiB, 500MB or a number of bytes")
    return str(int(float(found[1]) * unit))


_CHECKS: Final[Mapping[str, Callable[[str], str]]] = {
    "request": str,
    "prompt": _text,
    "prompt-hash": _hash,
    "step": _steps,
    "phase": _phase,
    "loss": _number,
    "memory": _bytes,
    "host-memory": _bytes,
}
