"""What a tap costs a model of layers like those of Llama 8B, in bfloat16: pairs of neighbouring steps, one recorded and one armed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from overhead import tensors_and_bytes
from pairs import RECORDED, Pairs, armed, by_turns
from torch import Tensor, nn

import tensortap

MODES: dict[str, dict[str, Any]] = {
    "armed": {"level": "mix", "steps": [1_000_000]},
    "L0": {"level": "L0"},
    "L1": {"level": "L1"},
    "mix": {"level": "mix"},
    "mix, sketch and digest": {"level": "mix", "sketch": True, "digest": True},
}
_SLOWEST_S = 0.4  # of a step, by the choice of layers
_MOST_PAIRS = 50
_MB = 1 << 20
DEVICE = "cuda"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Of a Llama's layers."""

    hidden: int = 4096
    heads: int = 32
    shared: int = 8
    inner: int = 14336


class Layer(nn.Module):
    """A layer of a Llama, with a cache of keys and values where it decodes."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, self.size = shape, shape.hidden // shape.heads
        self.norm1, self.norm2 = nn.RMSNorm(shape.hidden), nn.RMSNorm(shape.hidden)
        self.q, self.o = (nn.Linear(shape.hidden, shape.hidden, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(shape.hidden, shape.shared * self.size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(shape.hidden, shape.inner, bias=False) for _ in range(2))
        self.down = nn.Linear(shape.inner, shape.hidden, bias=False)
        self.cache: tuple[Tensor, Tensor] | None = None

    def forward(self, hidden: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        """Attention and the gated product, each with a residual."""
        hidden = hidden + self._attended(self.norm1(hidden), turn)
        normed = self.norm2(hidden)
        return hidden + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))

    def _attended(self, hidden: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        query, key, value = (made(hidden).unflatten(-1, (-1, self.size)).transpose(1, 2) for made in (self.q, self.k, self.v))
        query, key = (one * turn[0] + torch.cat((-one[..., self.size // 2 :], one[..., : self.size // 2]), -1) * turn[1] for one in (query, key))
        if self.cache is not None:
            for kept, new in zip(self.cache, (key, value), strict=True):
                kept[:, :, -1:] = new
            key, value = self.cache
        times = self.shape.heads // self.shape.shared
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=self.cache is None)
        return self.o(attended.transpose(1, 2).flatten(2))


class Llama(nn.Module):
    """So many layers."""

    def __init__(self, layers: int, shape: Shape) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(Layer(shape) for _ in range(layers)), nn.RMSNorm(shape.hidden)
        self.size = shape.hidden // shape.heads

    def forward(self, hidden: Tensor, first: int = 0) -> Tensor:
        """The hidden states of tokens at places from the first on."""
        place = torch.arange(first, first + hidden.shape[1], device=hidden.device, dtype=torch.float32)
        angle = place[:, None] * (500000.0 ** -torch.linspace(0, 1, self.size // 2, device=hidden.device)).repeat(2)
        turn = angle.cos().to(hidden.dtype), angle.sin().to(hidden.dtype)
        for layer in self.layers:
            hidden = layer(hidden, turn)
        return self.norm(hidden)

    def keep(self, tokens: int, shape: Shape) -> None:
        """Decode with a cache of so many tokens from here on."""
        weight = self.norm.weight
        for layer in self.layers:
            made = (torch.zeros(1, shape.shared, tokens, self.size, dtype=weight.dtype, device=weight.device) for _ in range(2))
            layer.cache = next(made), next(made)


@dataclass(kw_only=True)
class Work:
    """One step that is timed, of a model."""

    name: str
    model: Llama
    run: Callable[[], object]
    peaks: list[int] = field(default_factory=list)  # of memory, step by step

    def step(self) -> None:
        """With all that the device has to do."""
        torch.cuda.reset_peak_memory_stats()
        self.run()
        torch.cuda.synchronize()
        self.peaks.append(torch.cuda.max_memory_allocated())


def layers(shape: Shape, tokens: int) -> int:
    """How many fit in time and memory, by a step of one."""
    work = training(1, shape, tokens)
    work.step()
    begun = time.perf_counter()
    work.step()
    each, bytes_of_one = time.perf_counter() - begun, torch.cuda.max_memory_allocated()
    most = min(_SLOWEST_S / each, 0.7 * torch.cuda.mem_get_info()[1] / bytes_of_one)
    return max(count for count in (1, 2, 4, 8, 16, 32) if count <= max(1.0, most))


def training(count: int, shape: Shape, tokens: int) -> Work:
    """Steps of training on so many tokens."""
    with torch.device(DEVICE):
        model = Llama(count, shape).bfloat16()
        batch = torch.randn(1, tokens, shape.hidden, dtype=torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).float().square().mean().backward()
        optimizer.step()

    return Work(name=f"training, {tokens:,} tokens", model=model, run=step)


def decoding(count: int, shape: Shape) -> Work:
    """Steps of one token each, behind 1,023 others."""
    with torch.device(DEVICE):
        model = Llama(count, shape).bfloat16().eval().requires_grad_(False)
        token = torch.randn(1, 1, shape.hidden, dtype=torch.bfloat16)
    model.keep(1024, shape)

    def step() -> None:
        with torch.no_grad():
            model(token, 1023)

    return Work(name="decoding, 1 token", model=model, run=step)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one mode."""

    work: str
    layers: int
    mode: str
    pairs: Pairs
    tensors: float
    held_mb: float  # by the tap, between steps
    peak_mb: float  # that a recorded step takes more


def costs(end: float, shape: Shape | None = None, tokens: tuple[int, ...] = (8192, 2048)) -> Iterator[Cost]:
    """Of every work and mode, until about the end by the monotonic clock."""
    shape = shape or Shape()
    count, left = layers(shape, max(tokens)), len(MODES) * (len(tokens) + 1)
    makers = [lambda size=size: training(count, shape, size) for size in tokens]  # type: ignore[misc]
    for make in (*makers, lambda: decoding(count, shape)):
        work = make()
        work.step()
        for mode, settings in MODES.items():
            yield _cost(work, count, mode, settings, max(2.0, (end - time.monotonic()) / left))
            left -= 1
        del work
        torch.cuda.empty_cache()


def _cost(work: Work, count: int, mode: str, settings: dict[str, Any], seconds: float) -> Cost:
    before, tensors, held = torch.cuda.memory_allocated(), 0.0, 0
    work.peaks.clear()
    with tempfile.TemporaryDirectory() as folder:
        if mode == "armed":
            pairs = armed(work.step, lambda: tensortap.tap(work.model, run="gpu", spool=folder, **settings), _MOST_PAIRS, seconds)
        else:
            with tensortap.tap(work.model, run="gpu", spool=folder, steps=RECORDED, **settings) as tap:
                pairs = by_turns(_ended(work, tap).step, _MOST_PAIRS, seconds)
                held = torch.cuda.memory_allocated() - before
            tensors = tensors_and_bytes(Path(folder), len(pairs.recorded) + 2)[0]
    recorded, plain = ([peak for at, peak in enumerate(work.peaks) if (at % 4 in (0, 3)) is wanted] for wanted in (True, False))
    more = max(recorded[2:]) - max(plain[2:]) if tensors else 0
    return Cost(work=work.name, layers=count, mode=mode, pairs=pairs, tensors=tensors, held_mb=held / _MB, peak_mb=more / _MB)


def _ended(work: Work, tap: tensortap.Session) -> Work:
    """The work, with the tap's end of the step, which belongs to the step that it ends."""

    def run() -> None:
        work.run()
        tap.step()

    return Work(name=work.name, model=work.model, run=run, peaks=work.peaks)
