"""What each token is at places of the model: its norm, its mean and four sums, written as the step ends. Nobody waits for a device."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypedDict

import torch
from torch import Tensor

from tensortap._record import unseen
from tensortap._record.sampled_tokens import prompt_hash
from tensortap._record.served_requests import Prompt, Request
from tensortap._spool import layout
from tensortap._spool.spool import Spool
from tensortap._stats.leaving import leave
from tensortap._stats.streams import is_asynchronous
from tensortap._stats.token_sums import packed, sums_of

MOST_WAITING: Final = 256  # steps whose numbers are on their way to the host
EMBEDDING, ATTENTION, ROUTER, RESIDUAL, LOGITS = range(1, 6)  # as token_site has places
_EACH: Final = layout.SITES_OF_RECORD


class _Needed(TypedDict):

    prompt: int | str | Tensor | Sequence[int]  # ids of the prompt's tokens; a hash of them; or a name that every program has for it
    tokens: int  # how many of the sequence are in the call


class ServedTokens(_Needed, total=False):
    """What `sequences` of a tap takes: neighbouring tokens of one sequence that the model is given next."""

    position: int  # of the first of them, in prompt and answer; 0
    sample: int  # which answer to the prompt; 0
    row: int  # in the batch, flattened to tokens, of the first of them; behind the tokens told before it


class Site(NamedTuple):
    """A place of the model: layer and place as token_site has them."""

    layer: int
    place: int
    path: str


class _Seen(NamedTuple):
    """A place, and what is written of each row of a call's batch there."""

    site: Site
    rows: list[tuple[float, ...]]
    of_last: bool  # only the last row of each sequence counts


@dataclass
class _Call:
    """A call of the model: what it is given, and its tokens at each place."""

    given: tuple[Request, ...] = ()
    found: list[tuple[Site, Tensor]] = field(default_factory=list)


def requests_of(told: Iterable[ServedTokens]) -> tuple[Request, ...]:
    """What a program says, as engines say it."""
    row, requests = 0, []
    for one in told:
        row = one.get("row", row)
        prompt = Prompt(prompt_hash(one["prompt"]), -1)
        requests.append(Request("", "", one["tokens"], one.get("position", 0), prompt, row, one.get("sample", 0)))
        row += one["tokens"]
    return tuple(requests)


class TokenSites:
    """Of one process. To be called under the recorder's lock."""

    def __init__(self, spool: Spool, counts: unseen.Unseen, number: Callable[[], int]) -> None:
        """Number gives that of a sequence that begins."""
        self._spool, self._unseen, self._number = spool, counts, number
        self._calls: list[_Call] = []  # of the step under way
        self._last: tuple[Request, ...] = ()  # that ids said
        self._waiting: deque[tuple[Any, list[_Call], int, int]] = deque()  # with the event before, the step and the time

    def read(self, ids: object) -> None:
        """The model is given ids of tokens. One row more of as many sequences goes on with them; all else begins."""
        if not isinstance(ids, Tensor) or ids.dim() != 2 or ids.is_floating_point() or is_asynchronous(ids.device):
            self._last = ()
        elif self._last and ids.shape[1] == 1 and ids.shape[0] == len(self._last):
            self._last = tuple(Request("", "", 1, (one.first or 0) + one.tokens, one.prompt, row) for row, one in enumerate(self._last))
        else:
            width = int(ids.shape[1])
            self._last = requests_of({"prompt": row, "tokens": width} for row in ids.tolist())
        self._calls.append(_Call(self._last))

    def take(self, site: Site, tokens: Tensor) -> None:
        """Tokens, one in each row of the last dimension, have come to a place."""
        if not self._calls:
            self._calls.append(_Call())
        self._calls[-1].found.append((site, sums_of(tokens)))

    def end_step(self, step: int, served: Sequence[Request]) -> None:
        """The step is over, which served these, where an engine or the program says it."""
        calls, self._calls = self._calls, []
        if served:
            for call in calls:
                call.given = tuple(served)
        self.poll()
        if not any(call.found for call in calls):
            return
        event = _leave_devices(calls)
        if event is None and not self._waiting:
            self._write(calls, step, time.time_ns())
        elif len(self._waiting) >= MOST_WAITING:
            self._unseen.count(unseen.TOKENS, f"more than {MOST_WAITING} steps on their way from devices")
        else:
            self._waiting.append((event, calls, step, time.time_ns()))

    def poll(self, wait: bool = False) -> None:
        """Write what has come to the host, or all."""
        while self._waiting and (wait or self._waiting[0][0] is None or self._waiting[0][0].query()):
            event, calls, step, at = self._waiting.popleft()
            if event is not None:
                event.synchronize()
            self._write(calls, step, at)

    def forget(self) -> None:
        """In a child: what is on its way is the parent's."""
        leave(self._waiting)
        leave(self._calls)
        self._waiting, self._calls, self._last = deque(), [], ()

    def _write(self, calls: Iterable[_Call], step: int, at: int) -> None:
        for call in calls:
            count = sum(one.tokens for one in call.given)
            sites = list(self._readable(call))
            for one in call.given:
                if one.prompt is None or one.first is None or one.row is None:
                    self._unseen.count(unseen.TOKENS, "prompt or position not known", one.tokens)
                elif sites:
                    number = self._number()
                    head = (one.prompt.hash, at, number, one.sample, self._spool.text(one.phase), step, 0, 0, 0, 0.0, 0, count)
                    self._spool.write(layout.SEQUENCE_KIND, layout.SEQUENCE, *head)
                    self._write_sequence(number, one.first, sites, one.row, one.row + one.tokens)

    def _readable(self, call: _Call) -> Iterator[_Seen]:
        """The places that have all tokens of the call, or logits of the last of each sequence, which are all that sampling needs."""
        rows = max(((one.row or 0) + one.tokens for one in call.given), default=0)
        for site, sums in call.found:
            if not rows:
                self._unseen.count(unseen.TOKENS, "no ids seen, and the program does not say whose they are", len(sums))
            elif site.place == LOGITS and len(sums) == len(call.given) < rows:
                yield _Seen(site, _at_last_rows(call.given, packed(sums), rows), of_last=True)
            elif len(sums) < rows:
                self._unseen.count(unseen.TOKENS, f"{site.path}: not all tokens are there", len(sums))
            else:
                yield _Seen(site, packed(sums), of_last=False)

    def _write_sequence(self, number: int, position: int, sites: Iterable[_Seen], row: int, end: int) -> None:
        write, rest = self._spool.write, (0.0, 0.0, 0, 0)
        for site, rows, of_last in sites:
            word = site.place << 8 | site.layer << 16
            for first in range(end - 1 if of_last else row, end, _EACH):
                some = rows[first : min(first + _EACH, end)]
                flat = [value for one in some for value in one]
                write(layout.TOKEN_SITES_KIND, layout.TOKEN_SITES, number, word | len(some), position + first - row, *flat, *rest * (_EACH - len(some)))


def _at_last_rows(given: Iterable[Request], values: Iterable[tuple[float, ...]], rows: int) -> list[tuple[float, ...]]:
    """Values of sequences, in the order of their rows, in the last row of each."""
    placed: list[tuple[float, ...]] = [()] * rows
    ends = sorted((one.row or 0) + one.tokens for one in given)
    for end, value in zip(ends, values, strict=True):
        placed[end - 1] = value
    return placed


def _leave_devices(calls: Iterable[_Call]) -> Any:
    """Begin to copy what is on devices to the host; the event after which it is there, None where all is."""
    event = None
    for call in calls:
        for at, (site, sums) in enumerate(call.found):
            if is_asynchronous(sums.device):
                host = torch.empty(sums.shape, dtype=sums.dtype, pin_memory=True)
                host.copy_(sums, non_blocking=True)
                event = torch.cuda.Event()
                event.record(torch.cuda.current_stream(sums.device))
                call.found[at] = site, host
            else:
                call.found[at] = site, sums.cpu()
    return event
