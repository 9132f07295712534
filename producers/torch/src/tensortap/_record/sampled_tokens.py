"""Tokens that a program has sampled or scored, with their log-probabilities: many at a time, and nobody waits for a device."""

from __future__ import annotations

import hashlib
import time
from array import array
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypedDict, cast

import torch
from torch import Tensor

from tensortap._record import unseen
from tensortap._record.served_requests import prompt_of
from tensortap._spool import layout
from tensortap._spool.spool import Spool
from tensortap._stats.leaving import leave
from tensortap._stats.streams import is_asynchronous

MOST_WAITING: Final = 1 << 20  # tokens whose numbers are on their way to the host
MOST_PHASE: Final = 200  # characters
_EACH: Final = layout.TOKENS_OF_RECORD
_MASK: Final = (1 << 64) - 1
_ON_DEVICES: Final = ("prompt", "ids", "logprobs", "positions", "entropies")

Numbers = Tensor | Sequence[int] | Sequence[float]


class _Needed(TypedDict):

    prompt: int | str | Tensor | Sequence[int]  # ids of the prompt's tokens; a hash of them; or a name that every program has for it
    ids: Tensor | Sequence[int]  # of the tokens
    logprobs: Numbers  # natural logarithms of their probabilities, as many
    positions: int | Tensor | Sequence[int]  # in prompt and answer, from 0; of the first, where they follow each other


class SampledTokens(_Needed, total=False):
    """What `tokens` of a tap takes: tokens of one sequence, sampled by a model or scored by it."""

    sample: int  # which answer to the prompt; 0
    entropies: Numbers | None  # of the distributions, in nats, as many
    phase: str  # prefill, decode, train and so on
    temperature: float | None  # that the logits were divided by
    weights: int | None  # the trainer's update that the weights are of; that of the last call of `weights`
    global_step: int | None  # the trainer's step that they are for; the tap's step
    cached: int | None  # tokens at the beginning that came from a cache of prefixes


@dataclass(frozen=True, kw_only=True)
class Said:
    """The same, with defaults."""

    prompt: Any
    ids: Any
    logprobs: Any
    positions: Any
    sample: int = 0
    entropies: Any = None
    phase: str = ""
    temperature: float | None = None
    weights: int | None = None
    global_step: int | None = None
    cached: int | None = None


def count_of(said: Mapping[str, Any]) -> int:
    """How many tokens there are."""
    return len(said["ids"])


class TokenLog:
    """Writes tokens, and weights after updates. To be called under the recorder's lock."""

    def __init__(self, spool: Spool, counts: unseen.Unseen) -> None:
        self._spool, self._unseen = spool, counts
        self._number = 0  # of the last sequence
        self._version: int | None = None  # of the weights
        self._waiting: deque[tuple[Any, Said, int, int]] = deque()  # until an event: tokens of a step, told at a time
        self._waiting_count = 0

    @property
    def is_waiting(self) -> bool:
        """Whether any are on their way to the host."""
        return bool(self._waiting)

    def take(self, said: SampledTokens, step: int) -> None:
        """Tokens of that step. Raises ValueError or TypeError where they cannot be read."""
        told = Said(**said)
        if told.weights is None:
            told = replace(told, weights=self._version)
        self.poll()
        event, told = _on_the_way(told)
        if event is None and not self._waiting:
            self._write(told, step, time.time_ns())
        elif self._waiting_count + len(told.ids) > MOST_WAITING:
            self._unseen.count(unseen.TOKENS, "more than a million on their way from devices", len(told.ids))
        else:
            self._waiting.append((event, told, step, time.time_ns()))
            self._waiting_count += len(told.ids)

    def poll(self, wait: bool = False) -> None:
        """Write what has come to the host, or all."""
        while self._waiting:
            event, told, step, at = self._waiting[0]
            if event is not None and not wait and not event.query():
                return
            self._waiting.popleft()
            self._waiting_count -= len(told.ids)
            if event is not None:
                event.synchronize()
            self._write(told, step, at)

    def next_number(self) -> int:
        """Of a sequence that begins now."""
        self._number += 1
        return self._number

    def forget(self) -> None:
        """In a child: what is on its way is the parent's."""
        leave(self._waiting)
        self._waiting, self._waiting_count = deque(), 0

    def updated(self, version: int, checksums: Mapping[str, str], step: int) -> None:
        """The weights are those of that update: their checksums, each with what it is of behind it, by name."""
        self._version, now = version, time.time_ns()
        for name, text in checksums.items():
            checksum, _, description = text.partition(" ")
            texts = self._spool.text(name), self._spool.text(description)
            self._spool.write(layout.WEIGHT_KIND, layout.WEIGHT, *texts, int(checksum, 16), now, version, step)

    def _write(self, told: Said, step: int, at: int) -> None:
        ids, logs = array("I", _list(told.ids)), array("f", _list(told.logprobs))
        entropies = array("f", [0.0] * len(ids) if told.entropies is None else _list(told.entropies))
        if not len(ids) == len(logs) == len(entropies):
            raise ValueError(f"{len(ids)} ids of tokens with {len(logs)} log-probabilities and {len(entropies)} entropies: give as many of each")
        runs = list(_runs(told.positions, len(ids)))
        self.next_number()
        self._spool.write(layout.SEQUENCE_KIND, layout.SEQUENCE, *self._head(told, step, at))
        for first, position, count in runs:
            end, rest = first + count, (0,) * (_EACH - count)
            columns = (*ids[first:end], *rest, *logs[first:end], *rest, *entropies[first:end], *rest)
            self._spool.write(layout.TOKENS_KIND, layout.TOKENS, self._number, position, count, *columns)

    def _head(self, told: Said, step: int, at: int) -> tuple[float, ...]:
        flags = (layout.ENTROPIES if told.entropies is not None else 0) | (layout.TEMPERATURE if told.temperature is not None else 0)
        plus_one = (0 if number is None else number + 1 for number in (told.global_step, told.weights, told.cached))
        phase = self._spool.text(told.phase[:MOST_PHASE])
        return (prompt_hash(told.prompt), at, self._number, told.sample, phase, step, *plus_one, told.temperature or 0.0, flags, 0)


def _on_the_way(told: Said) -> tuple[Any, Said]:
    """The same with copies in the host's memory of what is on devices, and the event after which they hold it; None: they do."""
    copied: dict[str, Tensor] = {}
    event = None
    for name in _ON_DEVICES:
        tensor = getattr(told, name)
        if not isinstance(tensor, Tensor):
            continue
        if not is_asynchronous(tensor.device):
            copied[name] = tensor.detach().cpu() if not tensor.is_cpu else tensor.detach()
            continue
        copied[name] = host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        host.copy_(tensor.detach(), non_blocking=True)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(tensor.device))
    return event, replace(told, **cast("dict[str, Any]", copied))


def _list(numbers: Any) -> list[Any]:
    return numbers.reshape(-1).tolist() if hasattr(numbers, "tolist") else list(numbers)


def prompt_hash(prompt: Any) -> int:
    """The hash of a prompt. Of tokens' ids it is that of requests of engines."""
    if isinstance(prompt, int):
        return prompt & _MASK
    if isinstance(prompt, str):
        return int.from_bytes(hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1
    return prompt_of(_list(prompt)).hash


def _runs(positions: Any, count: int) -> Iterator[tuple[int, int, int]]:
    """Where tokens begin that share a record, their first position, and how many they are: neighbours, as many as it holds."""
    at = range(positions, positions + count) if isinstance(positions, int) else array("I", _list(positions))
    if len(at) != count:
        raise ValueError(f"{count} ids of tokens at {len(at)} positions: give one of each, or that of the first alone")
    first = 0
    while first < count:
        end = first + 1
        while end < count and end - first < _EACH and at[end] == at[end - 1] + 1:
            end += 1
        yield first, at[first], end - first
        first = end

