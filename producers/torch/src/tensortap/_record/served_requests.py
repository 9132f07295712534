"""What a step of an inference engine serves: parts of requests, and which rows of its tensors are no tokens of any."""

from __future__ import annotations

import hashlib
import re
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

from tensortap._record import unseen
from tensortap._record.tensor_rows import Observer
from tensortap._spool import layout
from tensortap._spool.spool import Spool

MOST_NAMES: Final = 1 << 16  # of requests, that one process keeps


class UnreadableError(Exception):
    """The text of a prompt cannot be had, for the reason that this gives."""


def bare(text: str) -> str:
    """Text without white space, of which a tokenizer may give back another than it was given."""
    return "".join(text.split())


@dataclass(frozen=True)
class Prompt:
    """A prompt, by the hash of its tokens' ids: runs name the same request differently."""

    hash: int
    tokens: int
    read: Callable[[], str] | None = field(default=None, compare=False, repr=False)  # its text, which takes a tokenizer

    @cached_property
    def text(self) -> str:
        """What it says, without white space. Raises UnreadableError."""
        if self.read is None:
            raise UnreadableError("nothing here turns tokens into text")
        return bare(self.read())


# vLLM puts the number of the answer before a name, and behind it which prompt of a text it is, and eight digits.
_INNER_NAME: Final = re.compile(r"(?:[0-9]+_)?(?:(cmpl-.+?)-[0-9]+|(.+?))-[0-9a-f]{8}")


@lru_cache(maxsize=4096)
def client_name(name: str) -> str:
    """The name that a request's client got, of the engine's own name for it."""
    found = _INNER_NAME.fullmatch(name)
    return name if found is None else found[1] or found[2]


@dataclass(frozen=True)
class Request:
    """A request's part of a step. None: not known."""

    name: str
    phase: str
    tokens: int
    first: int | None = None  # position of the first of the tokens
    prompt: Prompt | None = None
    row: int | None = None  # of the step's tensors, in which the tokens begin
    sample: int = 0  # which answer to the prompt


def prompt_of(tokens: Sequence[int], read: Callable[[], str] | None = None) -> Prompt:
    """The prompt of these tokens."""
    digest = hashlib.blake2b(array("q", tokens).tobytes(), digest_size=8).digest()
    return Prompt(int.from_bytes(digest, "little") or 1, len(tokens), read)


def unreadable(served: Sequence[Request]) -> str:
    """Why the prompts of an engine cannot be read; empty where they can. The first that is ever read waits for a tokenizer."""
    prompt = next((request.prompt for request in served if request.prompt), None)
    if prompt is None:
        return "prompts are not known here; choose by request"
    try:
        _ = prompt.text
    except UnreadableError as error:
        return f"prompts cannot be read here, choose by request or prompt-hash: {error}"
    return ""


class Serving:
    """Writes what the steps of one process serve. To be called under the session's lock."""

    def __init__(self, spool: Spool, observer: Observer, counts: unseen.Unseen) -> None:
        self._spool, self._observer, self._unseen = spool, observer, counts
        self._names: dict[str, int] = {}
        self.rows: list[tuple[str, int | None, int]] = []  # of the step under way: request, its first row and how many
        self.served: tuple[Request, ...] = ()  # in the step under way

    def write(self, served: Iterable[Request]) -> None:
        """The step under way serves these."""
        now = time.time_ns()
        self.rows, self.served = [], tuple(served)
        for one in self.served:
            self.rows.append((one.name, one.row, one.tokens))
            prompt = one.prompt or Prompt(0, -1)
            self._spool.write(
                layout.REQUEST_KIND,
                layout.REQUEST,
                self._name(one.name),
                self._spool.text(one.phase),
                now,
                prompt.hash,
                0 if one.first is None else one.first + 1,
                one.tokens,
                0 if one.row is None else one.row + 1,
                prompt.tokens + 1,
            )

    def pad(self, rows: int, tokens: int) -> None:
        """In the step under way, tensors of so many rows hold so many tokens, and then padding."""
        self._observer.padding = (rows, tokens)

    def _name(self, name: str) -> int:
        """The text of a request's name, each of which is one more definition; 0 beyond the limit."""
        known = self._names.get(name)
        if known is None and len(self._names) < MOST_NAMES:
            known = self._names[name] = self._spool.text(name)
        if known is None:
            self._unseen.count(unseen.REQUEST_NAMES)
        return known or 0
