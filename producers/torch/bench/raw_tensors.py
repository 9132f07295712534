"""How fast raw tensors go to the disk, beside one file that is written from end to end, and small ones beside plain files.

    python bench/raw_tensors.py    measures and prints the section; TENSORTAP_BENCH_FOLDER names a folder of the disk
"""

from __future__ import annotations

import mmap
import os
import platform
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import tensortap

ROUNDS = 5
MARK = 80  # %
TOKENS = 1024
WIDTHS = (4096,) * 6 + (14336,) * 2  # of a layer's tensors, as of a Llama with 8 billion parameters
STEPS = 7
BLOCK = 2 * TOKENS * WIDTHS[0]  # bytes: of a tensor of bfloat16, and of what the baseline writes at once
BYTES = STEPS * 2 * TOKENS * sum(WIDTHS)
TENSORS = STEPS * len(WIDTHS)
SMALL = 2048  # elements of a small tensor: 4 kB
SMALL_STEPS = 250

SECTION = """
## Raw tensors

`make bench-raw`; {machine}, {threads} threads, torch {torch}, median of {rounds} rounds, {date}: a model whose modules make tensors of bfloat16 of {tokens:,} tokens × 4,096 (8 MiB) and × 14,336 (28 MiB), {megabytes:,} MB in
all, with the task `tensor`. A first step is not counted, in which a tap begins; then all is, until the tap has ended and each file is on the disk (`fsync`). The disk's own speed is that of one file of as many bytes, written
from end to end in the same round, 8 MiB at once, `fsync` included: through the system's memory, and past it (`O_DIRECT`); each round counts the faster of both, and shares are medians of the rounds' own. Seconds of the processor are the process's, the model's
own work among ours; what the system does later, as it writes its memory to the disk, is in neither. Load of the machine when this began: {load:.1f}.

| what | figure | baseline | mark | |
|---|---|---|---|---|
| raw tensors kept at | {ours:,.0f} MB/s | {past:,.0f} MB/s past the system's memory, {through:,.0f} MB/s through it; {share:.0f} % of the faster | at least {mark} % | {verdict} |
| the processor's time for a GB | {ours_cpu:.2f} s | {past_cpu:.2f} s, {through_cpu:.2f} s; the model alone {model_cpu:.2f} s |  |  |
| of these kept | {kept} of {tensors} |  | all | {whole} |
| memory for tensors that wait | {memory:,.0f} MB at most |  |  |  |
| tensors of 4 kB kept at, without `fsync` | {files:,.0f} files/s | {plain_files:,.0f} files/s by open, write and close: {file_share:.0f} % |  |  |
| the processor's time for one | {file_cpu:,.0f} µs | {plain_file_cpu:,.0f} µs, and {statistics_cpu:,.0f} µs for a tensor's statistics alone |  |  |
"""


@dataclass(frozen=True)
class Cost:
    """Of one way, in one round."""

    seconds: float
    processor: float
    count: int


class Clock:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._begun, self._used = time.perf_counter(), _processor()

    def cost(self, count: int) -> Cost:
        return Cost(time.perf_counter() - self._begun, _processor() - self._used, count)


class _Next(nn.Module):
    """Makes one tensor, in the same memory each time, so that what a model costs is no matter of ours."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.made = torch.zeros(shape, dtype=torch.bfloat16)

    def forward(self, given: Tensor) -> Tensor:
        return torch.neg(given[: self.made.numel()].view_as(self.made), out=self.made)


class _Model(nn.Module):
    def __init__(self, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(_Next(*shape) for shape in shapes)
        self.first = _Next(1, 1)
        self.given = torch.rand(max(torch.Size(shape).numel() for shape in shapes)).to(torch.bfloat16)

    def forward(self, *, is_first: bool = False) -> None:
        for part in (self.first,) if is_first else self.parts:
            part(self.given)


def _large() -> _Model:
    return _Model(*((TOKENS, width) for width in WIDTHS))


def _small() -> _Model:
    return _Model(*((1, SMALL),) * 8)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _sequential(folder: Path, flags: int) -> Cost:
    """One file, from memory that begins with a page."""
    content = mmap.mmap(-1, BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    content[:] = os.urandom(BLOCK)
    clock = Clock()
    file = os.open(folder / "one", os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600)
    for _ in range(BYTES // BLOCK):
        os.write(file, content)
    os.fsync(file)
    os.close(file)
    return clock.cost(1)


def _model_alone(_folder: Path) -> Cost:
    model, clock = _large(), Clock()
    for _ in range(STEPS):
        model()
    return clock.cost(0)


def _tapped(model: _Model, folder: Path, task: str, steps: int) -> Clock:
    """The clock that runs from the second step on."""
    settings: dict[str, Any] = {"run": "bench", "level": "L0", "values": "output", "task": task, "budget": "1TB"}
    with torch.no_grad(), tensortap.tap(model, spool=folder / "spool", payload_folder=folder / "kept", **settings) as tap:
        model(is_first=True)
        tap.step()
        clock = Clock()
        for _ in range(steps):
            model()
            tap.step()
    return clock


def _kept(folder: Path) -> Cost:
    """Until all files are on the disk."""
    clock = _tapped(_large(), folder, "tensor", STEPS)
    files = [path for path in (folder / "kept").glob("*/*.safetensors") if path.stat().st_size > BLOCK]
    for path in files:
        _sync(path)
    return clock.cost(len(files))


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def _small_kept(folder: Path, task: str) -> Cost:
    return _tapped(_small(), folder, task, SMALL_STEPS).cost(SMALL_STEPS * 8)


def _small_plain(folder: Path) -> Cost:
    content, clock, count = bytes(2 * SMALL + 160), Clock(), SMALL_STEPS * 8
    for number in range(count):
        with (folder / f"{number}").open("xb", buffering=0) as file:
            file.write(content)
    return clock.cost(count)


WAYS: dict[str, Callable[[Path], Cost]] = {
    "through": lambda folder: _sequential(folder, 0),
    "past": lambda folder: _sequential(folder, os.O_DIRECT),
    "ours": _kept,
    "model": _model_alone,
    "plain_files": _small_plain,
    "files": lambda folder: _small_kept(folder, "tensor"),
    "statistics": lambda folder: _small_kept(folder, "statistics"),
}


def _in_a_folder(way: Callable[[Path], Cost]) -> Cost:
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("TENSORTAP_BENCH_FOLDER")))
    try:
        return way(folder)
    finally:
        shutil.rmtree(folder)


def _figures(rounds: list[dict[str, Cost]]) -> dict[str, float]:
    def median(figure: Callable[[dict[str, Cost]], float]) -> float:
        return statistics.median(map(figure, rounds))

    def speed(way: str) -> float:
        return median(lambda costs: BYTES / costs[way].seconds / 1e6)

    def of_one(way: str) -> float:
        return median(lambda costs: 1e6 * costs[way].processor / costs[way].count)

    figures = {way: speed(way) for way in ("through", "past", "ours")}
    figures |= {f"{way}_cpu": median(lambda costs, way=way: costs[way].processor / BYTES * 1e9) for way in ("through", "past", "ours", "model")}  # type: ignore[misc]
    figures["share"] = 100 * median(lambda costs: min(costs["past"].seconds, costs["through"].seconds) / costs["ours"].seconds)
    figures |= {way: median(lambda costs, way=way: costs[way].count / costs[way].seconds) for way in ("files", "plain_files")}  # type: ignore[misc]
    figures |= {"file_cpu": of_one("files"), "plain_file_cpu": of_one("plain_files"), "statistics_cpu": of_one("statistics")}
    figures["file_share"] = 100 * median(lambda costs: costs["plain_files"].seconds / costs["files"].seconds)
    return figures


def main() -> None:
    """Measures by turns, after a round that is not counted."""
    from tensortap._record.raw_memory import most_bytes

    load = os.getloadavg()[0]
    rounds = [{name: _in_a_folder(way) for name, way in WAYS.items()} for _ in range(ROUNDS + 1)][1:]
    figures, kept = _figures(rounds), min(costs["ours"].count for costs in rounds)
    sys.stdout.write(
        SECTION.format(
            **figures,
            machine=f"{os.cpu_count()} cores of {platform.machine()}",
            threads=torch.get_num_threads(),
            torch=torch.__version__,
            rounds=ROUNDS,
            load=load,
            date=time.strftime("%Y-%m-%d", time.gmtime()),
            tokens=TOKENS,
            megabytes=BYTES // 10**6,
            mark=MARK,
            verdict="met" if figures["share"] >= MARK else "missed",
            kept=kept,
            tensors=TENSORS,
            whole="met" if kept == TENSORS else "missed",
            memory=most_bytes() / 1e6,
        )
    )


if __name__ == "__main__":
    main()
