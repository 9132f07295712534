"""How fast raw tensors go to the disk, beside one file that is written from end to end.

    python bench/raw_tensors.py    measures and prints the section; TENSORTAP_BENCH_FOLDER names a folder of the disk
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import tensortap

ROUNDS = 5
ELEMENTS = 1 << 21  # of a tensor of float32: 8 MiB
TENSORS = 96
MARK = 80  # %
BYTES = 4 * ELEMENTS * TENSORS

SECTION = """
## Raw tensors

`make bench-raw`; {machine}, {threads} threads, torch {torch}, median of {rounds} rounds, {date}: a model whose modules make tensors of 8 MiB, {megabytes:,} MB in all, with the task `tensor`, from
the first step until the tap has ended and each file is on the disk (`fsync`). The disk's own speed is that of one file of as many bytes, written from end to end in the same round, `fsync` included. Load of the machine when this began: {load:.1f}.

| what | figure | baseline | mark | |
|---|---|---|---|---|
| raw tensors kept at | {ours:,.0f} MB/s | {disk:,.0f} MB/s, {share:.0f} % of the disk's speed | at least {mark} % | {verdict} |
| of these kept | {kept} of {tensors} |  | all | {whole} |
| memory for tensors that wait | {memory:,.0f} MB at most |  |  |  |
"""


class _Next(nn.Module):
    def forward(self, given: Tensor) -> Tensor:
        return given + 1


def _sequential(folder: Path) -> int:
    content = torch.rand(ELEMENTS).view(torch.uint8).numpy().tobytes()
    with (folder / "one").open("wb", buffering=0) as file:
        for _ in range(TENSORS):
            file.write(content)
        os.fsync(file.fileno())
    return TENSORS


def _kept(folder: Path) -> int:
    """How many files there are, when each is on the disk."""
    model, given = nn.Sequential(*(_Next() for _ in range(8))), torch.rand(ELEMENTS)
    settings = {"run": "bench", "level": "L0", "values": "output", "task": "tensor", "budget": "1TB"}
    with tensortap.tap(model, spool=folder / "spool", payload_folder=folder / "kept", **settings) as tap:  # type: ignore[arg-type]
        for _ in range(TENSORS // 8):
            with torch.no_grad():
                model(given)
            tap.step()
    files = list((folder / "kept").glob("*/*.safetensors"))
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    return len(files)


def _timed(write: Callable[[Path], int]) -> tuple[float, int]:
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("TENSORTAP_BENCH_FOLDER")))
    try:
        begun = time.perf_counter()
        count = write(folder)
        return time.perf_counter() - begun, count
    finally:
        shutil.rmtree(folder)


def _megabytes(seconds: float) -> float:
    return BYTES / seconds / 1e6


def main() -> None:
    """Measures by turns, after a round that is not counted."""
    from tensortap._record.raw_memory import most_bytes

    load = os.getloadavg()[0]
    rounds = [(_timed(_sequential), _timed(_kept)) for _ in range(ROUNDS + 1)][1:]
    share = 100 * statistics.median(plain[0] / ours[0] for plain, ours in rounds)
    kept = min(ours[1] for _, ours in rounds)
    sys.stdout.write(
        SECTION.format(
            machine=f"{os.cpu_count()} cores of {platform.machine()}",
            threads=torch.get_num_threads(),
            torch=torch.__version__,
            rounds=ROUNDS,
            load=load,
            date=time.strftime("%Y-%m-%d", time.gmtime()),
            megabytes=BYTES // 10**6,
            ours=_megabytes(statistics.median(ours[0] for _, ours in rounds)),
            disk=_megabytes(statistics.median(plain[0] for plain, _ in rounds)),
            share=share,
            mark=MARK,
            verdict="met" if share >= MARK else "missed",
            kept=kept,
            tensors=TENSORS,
            whole="met" if kept == TENSORS else "missed",
            memory=most_bytes() / 1e6,
        )
    )


if __name__ == "__main__":
    main()
