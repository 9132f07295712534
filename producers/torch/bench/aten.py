"""What level aten costs beside a plain mode of the dispatcher that writes the same facts as lines of JSON.

    python bench/aten.py    times both, in alternating rounds, and prints a table

The same facts are, of each op, its name, module, and the dtypes, shapes, strides and devices of its tensors; the plain mode writes
them when the op is over, as SGLang's shape profiler does.
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
from typing import Any, TextIO

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import tensortap

ROUNDS = int(os.environ.get("TENSORTAP_BENCH_ROUNDS", "7"))
STEPS = 50
LEAST_RATIO = 5.0


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

    def __init__(self, width: int = 64, blocks: int = 6) -> None:
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


class JsonLines(TorchDispatchMode):
    """The plain mode."""

    def __init__(self, file: TextIO, flushed: bool) -> None:
        super().__init__()
        self._file, self._flushed, self.paths = file, flushed, [""]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the op and write its line."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        names = [argument.name for argument in func._schema.arguments]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        inputs = {name: facts(value) for name, value in given.items()}
        record = {
            "operation": str(func),
            "module": self.paths[-1],
            "inputs": {name: value for name, value in inputs.items() if value is not None},
            "outputs": facts(result),
        }
        self._file.write(json.dumps(record) + "\n")
        if self._flushed:
            self._file.flush()
        return result


def facts(value: Any) -> Any:
    """What the log says of a value."""
    if isinstance(value, Tensor):
        return {"shape": list(value.shape), "dtype": str(value.dtype), "strides": list(value.stride()), "device": str(value.device)}
    if isinstance(value, list | tuple):
        return [found for found in map(facts, value) if found is not None] or None
    return None


@contextmanager
def json_lines(model: nn.Module, path: Path, flushed: bool) -> Iterator[None]:
    """The plain mode, with the module's path by hooks."""
    with path.open("w", encoding="utf-8") as file, JsonLines(file, flushed) as mode:
        handles = [hook for path, module in model.named_modules() if path for hook in follow(mode, path, module)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def follow(mode: JsonLines, path: str, module: nn.Module) -> list[Any]:
    """Hooks that keep the stack of paths."""
    enter = module.register_forward_pre_hook(lambda *_: mode.paths.append(path))
    leave = module.register_forward_hook(lambda *_: mode.paths.pop() and None, always_call=True)
    return [enter, leave]


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
            "nothing": nullcontext,
            "level aten": lambda: tapped(model, folder / f"counted-{number}", level="aten"),
            "JSON lines, each flushed": lambda: json_lines(model, folder / "flushed.jsonl", True),
            "JSON lines, buffered": lambda: json_lines(model, folder / "buffered.jsonl", False),
            "level aten, calls=each": lambda: tapped(model, folder / f"each-{number}", level="aten", calls="each"),
        }
        for name, observer in observers.items():
            times.setdefault(name, []).append(seconds(model, observer()))
    return times


HEAD = """
## Level aten beside JSON lines

`bench/aten.py`; {machine}, 1 thread, torch {torch}, median of {rounds} alternating rounds, processor time: {steps} steps of a small
diffusion transformer, {ops:,.0f} ops. Added is what a loop takes longer than without; the ratio is that of the plain mode, which writes a
line of JSON per op and flushes it, to the observer's own.

| observed by | ms a loop | added | µs an op | ratio |
|---|---|---|---|---|
"""


def main() -> float:
    """Print the table. Returns by how much more the plain mode adds."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Denoiser()
    with tempfile.TemporaryDirectory() as name:
        times = timed(model, Path(name))
        ops = len((Path(name) / "flushed.jsonl").read_text(encoding="utf-8").splitlines()) / 2
    rounds = range(ROUNDS)
    added = {observer: [found[at] - times["nothing"][at] for at in rounds] for observer, found in times.items()}
    ratios = {
        observer: statistics.median(added["JSON lines, each flushed"][at] / own[at] for at in rounds)
        for observer, own in added.items()
        if observer != "nothing"
    }
    print(HEAD.format(machine=f"{os.cpu_count()} cores of {platform.machine()}", torch=torch.__version__, rounds=ROUNDS, steps=STEPS, ops=ops), end="")
    for observer, found in times.items():
        median = statistics.median(added[observer])
        shown = f"{median * 1e3:.0f} ms | {median / ops * 1e6:.1f} | {ratios[observer]:.1f}" if observer in ratios else " | | "
        print(f"| {observer} | {statistics.median(found) * 1e3:.0f} | {shown} |")
    return ratios["level aten"]


if __name__ == "__main__":
    raise SystemExit(0 if main() >= LEAST_RATIO else 1)
