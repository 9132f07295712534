"""Trains and generates for long under a tap: memory stays flat, and nothing is left behind.

    python bench/soak.py --steps 3000 --tokens 10000 [--write PAGE]

With --write the figures replace a section of that page. The short form is tests/test_soak.py. It ends with 1 if something grew or was left.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # where the short form is

import torch
from pages import LONG_RUNS
from soaking import ANSWER, SETTLED, Soaked, soaked

HEAD = """## Long runs

`make soak-torch`; {machine}, 1 thread, torch {torch}, {date}: a small model is trained, and a small decoder generates answers of {answer} tokens, without a tap
and at two levels, in one process. Memory is that of the process, with the mapped pages of its spool, and without; tensors are all that Python knows of; blocks are
all that Python has allocated. Each is given after the first {settled} steps, at the end, and the greatest after those. What was left is found by a walk over torch's
namespaces and classes, the model's hooks, stacks of modes, signals, threads, modules, files and what Python calls by itself, before the tap and after it has ended.

| work | level | steps | memory kB | of it no file's | tensors | blocks of Python | left behind |
|---|---|---|---|---|---|---|---|
"""


def row(one: Soaked) -> str:
    """The table's."""
    cells = [one.work, one.level, f"{one.steps:,}"]
    for name in ("resident_kb", "own_kb", "tensors", "blocks"):
        values = [getattr(sample, name) for sample in one.samples]
        cells.append(f"{values[0]:,}, {values[-1]:,}, at most {max(values):,}")
    return "| " + " | ".join([*cells, ", ".join(one.left) or "nothing"]) + " |\n"


def main() -> int:
    """Run all, print the table, and say what grew."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--tokens", type=int, default=10_000)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    machine, date = f"{os.cpu_count()} cores of {platform.machine()}", time.strftime("%Y-%m-%d", time.gmtime())
    section = HEAD.format(machine=machine, torch=torch.__version__, date=date, answer=ANSWER, settled=SETTLED)
    print(section, end="", flush=True)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for work, steps in (("training", given.steps), ("generation", given.tokens)):
            for level in (None, "L0", "mix"):
                one = soaked(work, level, steps, Path(folder) / f"{work}-{level}")
                print(row(one), end="", flush=True)
                section += row(one)
                wrong += [f"{work}, {one.level}: {what}" for what in (*one.grew(), *(f"left {place}" for place in one.left))]
    if given.write:
        LONG_RUNS.write(given.write, section)
    print("\n".join(wrong) or "nothing grew, and nothing was left")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
