"""What the collector costs the step beside it: pairs of neighbouring steps, one recorded and one armed.

    python bench/neighbouring.py    times all and prints the table, TENSORTAP_BENCH_PAIRS pairs each of TENSORTAP_BENCH_MODELS
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from pairs import RECORDED, Pairs, armed, by_turns, compared
from subjects import Subject, llama

import tensortap

PAIRS = int(os.environ.get("TENSORTAP_BENCH_PAIRS", "30"))
THREADS = 2  # of the model
LEVELS = ("L0", "L1", "mix")
SUBJECTS: dict[str, Callable[[], Subject]] = {
    "tiny": lambda: llama(256, 4, 4, 688, 128),
    "medium": lambda: llama(1024, 8, 8, 2752, 128),
}

HEAD = """
## Neighbouring steps

Two Llamas, tiny of 4 layers of 256 and medium of 8 of 1,024, on 2 × 128 tokens; {threads} threads for the model, median of {pairs} pairs of neighbouring training
steps. One of a pair is recorded and the other armed, each in turn the first; the end of the step counts with it. What the machine does beside meets both.
`armed`, a tap that waits for a step far away, stands against no tap.

| model | recorded | threads for statistics | ms a step | training | CPU | ms added |
|---|---|---|---|---|---|---|
"""


def section(models: list[str]) -> Iterator[str]:
    """The section, a piece at a time."""
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    yield HEAD.format(threads=THREADS, pairs=PAIRS)
    for name in models:
        subject = SUBJECTS[name]()
        yield _row(name, "armed, against no tap", "", _armed(subject))
        for level in LEVELS:
            for threads in (1, 2):
                yield _row(name, level, str(threads), _recorded(subject, level, threads))
        pairs, held = _kept(subject)
        yield _row(name, f"L0 with `on_nan=keep`, against L0; a step is held for {held >> 20} MiB", "2", pairs)
    torch.set_num_threads(before)


def _armed(subject: Subject) -> Pairs:
    with tempfile.TemporaryDirectory() as folder:
        return armed(subject.train, lambda: tensortap.tap(subject.model, run="bench", level="mix", steps=[1_000_000], spool=Path(folder)), PAIRS)


def _recorded(subject: Subject, level: str, threads: int) -> Pairs:
    with tempfile.TemporaryDirectory() as folder:
        with tensortap.tap(subject.model, run="bench", level=level, steps=RECORDED, threads=threads, spool=Path(folder)) as tap:

            def step() -> None:
                subject.train()
                tap.step()

            return by_turns(step, PAIRS)


def _kept(subject: Subject) -> tuple[Pairs, int]:
    """Steps at L0 in which calls are held, in case one makes a NaN, beside steps at L0; and the bytes of tensors that were held at most."""
    with tempfile.TemporaryDirectory() as folder:
        with tensortap.tap(subject.model, run="bench", level="L0", on_nan="keep", threads=2, spool=Path(folder)) as tap:
            subject.train()
            assert tap._steps.process and tap._steps.process.nan_watch
            recorder, holds = tap._steps.process.recorder, tap._steps.process.nan_watch.ops

            def step(is_held: bool) -> None:
                recorder.on_nan = holds if is_held else None
                subject.train()
                tap.step()

            return compared(lambda: step(True), lambda: step(False), PAIRS), holds.calls.most_seen


def _row(name: str, mode: str, threads: str, pairs: Pairs) -> str:
    figures = f"{pairs.milliseconds():.0f} | {pairs.ratio():.2f} | {pairs.ratio(1):.2f} | {1e3 * pairs.added():.1f}"
    return f"| {name} | {mode} | {threads} | {figures} |\n"


if __name__ == "__main__":
    for piece in section(os.environ.get("TENSORTAP_BENCH_MODELS", "tiny medium").split()):
        sys.stdout.write(piece)
        sys.stdout.flush()
