"""What it costs to say something: a note, a timer, and both where nothing is tapped.

    python bench/notes.py                  prints the table
    python bench/notes.py --write PAGE     writes it into its section of the page
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from pages import NOTES

import tensortap

ROUNDS, CALLS = 15, 2000
MARK_US = 5


def _note() -> None:
    tensortap.note(loss=0.25, phase="train")


def _numbers() -> None:
    tensortap.note(loss=0.25, lr=1e-3, tokens=4096, grad_norm=1.5)


def _timer() -> None:
    with tensortap.timer("load"):
        pass


CASES: dict[str, Callable[[], None]] = {"a note of a number and a text": _note, "a note of four numbers": _numbers, "a timer": _timer}


def micros(call: Callable[[], None]) -> float:
    """Of one call, the median of rounds."""
    rounds = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(CALLS):
            call()
        rounds.append((time.process_time() - begun) / CALLS * 1e6)
    return statistics.median(rounds)


def table() -> str:
    """A row for each case."""
    elsewhere = {name: micros(call) for name, call in CASES.items()}
    model = torch.nn.Linear(1, 1)
    with tempfile.TemporaryDirectory() as folder, tensortap.tap(model, run="bench", spool=folder):
        model(torch.ones(1, 1))
        tapped = {name: micros(call) for name, call in CASES.items()}
    rows = [f"| {name} | {tapped[name]:.2f} | {elsewhere[name]:.2f} | {MARK_US} |" for name in CASES]
    head = ["## What code says of itself", "", f"Microseconds of processor time of one call, median of {ROUNDS} rounds of {CALLS:,} calls."]
    return "\n".join([*head, "", "| call | below a tap | where nothing is tapped | mark |", "|---|---|---|---|", *rows])


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    page = parser.parse_args().write
    if page:
        NOTES.write(page, table())
    else:
        print(table())


if __name__ == "__main__":
    main()
