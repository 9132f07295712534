"""What level aten costs beside a plain mode of the dispatcher that writes the same facts as lines of JSON.

    python bench/aten.py    times both, in alternating rounds, and prints a table and whether the mark is met

The same facts are, of each op, its name, and the dtypes, shapes, strides and devices of its tensors: of those that it is given before
it runs, so that they are on file whatever becomes of it, and of those that it gives back. As SGLang's shape profiler has it, all
of them are written when the op is over; that is timed, too.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import tensortap

ROUNDS = int(os.environ.get("TENSORTAP_BENCH_ROUNDS", "7"))
STEPS = 50
MARK = 5.0  # times as much that the plain mode adds to a loop
NOTHING, EMPTY, SAME = "nothing", "an empty mode", "JSON lines before and after the op"
Times = dict[str, list[float]]


class Attention(nn.Module):
    """Self-attention over tokens."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        """The attended tokens."""
        query, key, value = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(hidden).chunk(3, dim=-1))
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.out(attended.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """One block of a diffusion transformer, modulated by the time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, elementwise_affine=False), nn.LayerNorm(width, elementwise_affine=False)
        self.attention, self.modulation = Attention(width), nn.Linear(width, 4 * width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, hidden: Tensor, time: Tensor) -> Tensor:
        """One block."""
        scale1, shift1, scale2, shift2 = self.modulation(nn.functional.silu(time)).unsqueeze(1).chunk(4, dim=-1)
        hidden = hidden + self.attention(self.norm1(hidden) * (1 + scale1) + shift1)
        return hidden + self.mlp(self.norm2(hidden) * (1 + scale2) + shift2)


class Denoiser(nn.Module):
    """A small diffusion transformer: ops so small that what is added to each shows."""

    def __init__(self, width: int = 64, blocks: int = 12) -> None:
        super().__init__()
        self.time, self.blocks = nn.Linear(1, width), nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, width)

    def forward(self, hidden: Tensor, sigma: float) -> Tensor:
        """The noise."""
        time = self.time(torch.full((hidden.shape[0], 1), sigma))
        for block in self.blocks:
            hidden = block(hidden, time)
        return self.head(hidden)


def sample(model: nn.Module) -> Tensor:
    """A loop of equal steps, as diffusion has them."""
    hidden = torch.ones(2, 16, 64)
    with torch.no_grad():
        for step in range(STEPS):
            hidden = hidden - model(hidden, 1.0 - step / STEPS) / STEPS
    return hidden


class Empty(TorchDispatchMode):
    """A mode that writes nothing: what any costs."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the op."""
        return func(*args, **(kwargs or {}))


class JsonLines(TorchDispatchMode):
    """The plain mode. Each line is flushed."""

    def __init__(self, path: Path, before: bool) -> None:
        super().__init__()
        self._file, self._before = path.open("w", encoding="utf-8", buffering=1), before

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the op and write its line, or a line before and one after."""
        kwargs = kwargs or {}
        names = [argument.name for argument in func._schema.arguments]
        given = {name: facts(value) for name, value in [*zip(names, args, strict=False), *kwargs.items()]}
        record = {"operation": str(func), "inputs": {name: value for name, value in given.items() if value is not None}}
        if self._before:
            self._file.write(json.dumps(record) + "\n")
            record = {"operation": str(func)}
        result = func(*args, **kwargs)
        self._file.write(json.dumps({**record, "outputs": facts(result)}) + "\n")
        return result


def facts(value: Any) -> Any:
    """What the log says of a value."""
    if isinstance(value, Tensor):
        return {"shape": list(value.shape), "dtype": str(value.dtype), "strides": list(value.stride()), "device": str(value.device)}
    if isinstance(value, list | tuple):
        return [found for found in map(facts, value) if found is not None] or None
    return None


@contextmanager
def tapped(model: nn.Module, folder: Path, **settings: Any) -> Iterator[None]:
    """The collector."""
    with tensortap.tap(model, run="bench", spool=str(folder), **settings):
        yield


def seconds(model: nn.Module, around: AbstractContextManager[None]) -> float:
    """Processor seconds of a loop, after one that warms up."""
    with around:
        sample(model)
        begin = time.process_time()
        sample(model)
        return time.process_time() - begin


def timed(model: nn.Module, folder: Path) -> dict[str, list[float]]:
    """Seconds of a loop, by what observes it, round by round."""
    times: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        observers: dict[str, Callable[[], AbstractContextManager[None]]] = {
            NOTHING: nullcontext,
            EMPTY: Empty,
            "level aten": lambda: tapped(model, folder / f"counted-{number}", level="aten"),
            SAME: lambda: JsonLines(folder / "same.jsonl", before=True),
            "JSON lines when the op is over": lambda: JsonLines(folder / "after.jsonl", before=False),
            "level aten, calls=each": lambda: tapped(model, folder / f"each-{number}", level="aten", calls="each"),
        }
        for name, observer in observers.items():
            times.setdefault(name, []).append(seconds(model, observer()))
    return times


HEAD = """
## Level aten beside JSON lines

`make bench-aten`; {machine}, 1 thread, torch {torch}, median of {rounds} alternating rounds, processor time: {steps} steps of a small
diffusion transformer, {ops:,.0f} ops. Added is what a loop takes longer than without, and of that what an empty mode of the dispatcher does
not take. Times as much is what the plain mode adds that writes the same facts, with flushed lines of JSON before and after each op.

| observed by | ms a loop | added, µs an op | times as much | beyond an empty mode, µs an op | times as much |
|---|---|---|---|---|---|
"""


def added(times: Times, beyond: str) -> Times:
    """What each observer takes longer than another, round by round."""
    return {observer: [own - base for own, base in zip(found, times[beyond], strict=True)] for observer, found in times.items()}


def ratio(beyond: Times, observer: str) -> float:
    """By how much more the plain mode adds, as the median over rounds."""
    return statistics.median(plain / own for plain, own in zip(beyond[SAME], beyond[observer], strict=True))


def cells(beyond: Times, observer: str, ops: float) -> str:
    """Added microseconds of an op and the ratio."""
    return f"{statistics.median(beyond[observer]) / ops * 1e6:.1f} | {ratio(beyond, observer):.1f}"


def main() -> None:
    """Print the table, and what it says of the mark."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Denoiser()
    with tempfile.TemporaryDirectory() as name:
        times = timed(model, Path(name))
        ops = len((Path(name) / "after.jsonl").read_text(encoding="utf-8").splitlines()) / 2
    print(HEAD.format(machine=f"{os.cpu_count()} cores of {platform.machine()}", torch=torch.__version__, rounds=ROUNDS, steps=STEPS, ops=ops), end="")
    alone, empty = added(times, NOTHING), added(times, EMPTY)
    for observer, found in times.items():
        whole = cells(alone, observer, ops) if observer != NOTHING else " | "
        recording = cells(empty, observer, ops) if observer not in (NOTHING, EMPTY) else " | "
        print(f"| {observer} | {statistics.median(found) * 1e3:.0f} | {whole} | {recording} |")
    reached = ratio(alone, "level aten")
    print(f"\nThe mark is that the plain mode adds at least {MARK:.0f} times as much: {reached:.1f}, {'met' if reached >= MARK else 'missed'}.")


if __name__ == "__main__":
    main()
