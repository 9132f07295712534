"""Training and generation under a tap, with what there is of memory, tensors and files as steps go by, and what is left afterwards."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import traces
from models import small
from torch import Tensor, nn

import tensortap
from tensortap._session import session as _imported  # noqa: F401  by the first tap otherwise, and stays

SETTLED = 100  # steps after which all is as it stays
SEGMENTS = 4
_MOST_KB = 1024  # of memory that is taken and given back
_SEGMENT_KB = 2048  # of the one under way, which is in memory as far as it is written
_MOST_BLOCKS = 500  # of Python, by whatever it caches itself
ANSWER = 100  # tokens of one answer


class Decoder(nn.Module):
    """Attention over a cache that grows with each token, and a head."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed, self.qkv = nn.Embedding(50, width), nn.Linear(width, 3 * width)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 50)

    def forward(self, token: Tensor, cache: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The next token's logits, and the cache with this one."""
        query, key, value = self.qkv(self.embed(token)).chunk(3, dim=-1)
        if cache is not None:
            key, value = torch.cat((cache[0], key), dim=1), torch.cat((cache[1], value), dim=1)
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.head(self.norm(attended)), (key, value)


def train() -> tuple[nn.Module, Callable[[], None]]:
    """A model, and one step of its training."""
    model, batch = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)  # none whose numbers are others in each step

    def step() -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return model, step


def generate() -> tuple[nn.Module, Callable[[], None]]:
    """A model, and one token of its answers, which are of a hundred tokens each."""
    torch.manual_seed(3)
    model, cache, length = Decoder().eval(), None, 0
    token = torch.zeros(1, 1, dtype=torch.int64)

    @torch.no_grad()
    def step() -> None:
        nonlocal token, cache, length
        logits, cache = model(token, cache)
        token, length = logits.argmax(dim=-1), length + 1
        if length == ANSWER:
            cache, length = None, 0

    return model, step


WORK = {"training": train, "generation": generate}


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What there is after so many steps."""

    step: int
    resident_kb: int
    own_kb: int  # of that, no file's
    tensors: int
    blocks: int  # that Python has allocated
    segments: int


@dataclass(frozen=True, kw_only=True)
class Soaked:
    """A run of many steps."""

    work: str
    level: str
    steps: int
    samples: list[Sample]
    left: list[str]

    def grew(self) -> list[str]:
        """What is more than after the first hundred steps, beyond what a process varies by itself."""
        first, *later = self.samples
        most = {
            "resident_kb": first.resident_kb + _MOST_KB + _SEGMENT_KB,
            "own_kb": first.own_kb + _MOST_KB,
            "tensors": first.tensors,
            "blocks": first.blocks + _MOST_BLOCKS,
            "segments": SEGMENTS,
        }
        return [f"{name} {getattr(one, name):,} at step {one.step}, {limit:,} allowed" for one in later for name, limit in most.items() if getattr(one, name) > limit]


def soaked(work: str, level: str | None, steps: int, spool: Path) -> Soaked:
    """Run so many steps under a tap of that level, or without one; some before, without."""
    model, step = WORK[work]()
    for _ in range(SETTLED):
        step()
    gc.collect()
    before = traces.traces(model)
    samples = list(_watched(model, step, level, steps, spool))
    gc.collect()
    return Soaked(work=work, level=level or "without", steps=steps, samples=samples, left=traces.left(before, traces.traces(model)))


def _watched(model: nn.Module, step: Callable[[], None], level: str | None, steps: int, spool: Path) -> Iterator[Sample]:
    every = max(SETTLED, steps // 30 // SETTLED * SETTLED)  # at which a cache is as long as at the first
    tap = tensortap.tap(model, run="soak", level=level, spool=spool, segments=SEGMENTS) if level else None
    for number in range(1, steps + 1):
        step()
        if number == SETTLED or number % every == 0:
            yield _sample(number, spool)
    if tap:
        tap.close()


def _sample(step: int, spool: Path) -> Sample:
    gc.collect()
    sys._clear_type_cache()  # Python keeps up to 4,096 names there that torch has looked up, a new string each time
    with open("/proc/self/status", encoding="utf-8") as status:
        found = {name: words.split() for name, _, words in (line.partition(":") for line in status)}
    return Sample(
        step=step,
        resident_kb=int(found["VmRSS"][0]),
        own_kb=int(found["RssAnon"][0]),
        tensors=sum(issubclass(type(one), Tensor) for one in gc.get_objects()),
        blocks=sys.getallocatedblocks(),
        segments=len(list(spool.glob("*/rows-*"))),
    )
