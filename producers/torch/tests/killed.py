"""Starts ranks that train and kills each in mid-step; prints what each had committed by then.

    python -m tests.killed KILLS

The last line is JSON: of each run its rows of tensors, and the name of the op that was under way.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch._dynamo  # optimizers import it: once, before the ranks are forked

import tensortap
from tensortap._config.spool_root import spool_root
from tests import reading
from tests.models import small, train


def rank(run: str, ready: int) -> None:
    """Train until killed."""
    model, batch = small()
    with tensortap.tap(model, run=run, level="mix"):
        train(model, batch, 1)
        os.write(ready, b"!")
        train(model, batch, 1_000_000)


def kill(run: str, after: float) -> None:
    """Kill a rank so many seconds after its first step."""
    told, ready = os.pipe()
    child = os.fork()
    if child == 0:
        rank(run, ready)
        os._exit(1)
    os.close(ready)
    os.read(told, 1)
    os.close(told)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert os.WTERMSIG(status) == signal.SIGKILL, status


def committed(folder: Path) -> tuple[str, dict[str, object]]:
    """What a spool holds for whoever reads it."""
    spooled = reading.read(folder)
    tensors = sum(kind in ("tensor", "number") for kind, _ in spooled.rows)
    op = spooled.named("op", spooled.header["current_op"])["name"]
    assert spooled.header["dropped_count"] == 0, "the ring holds it all"
    return spooled.definitions[0]["name"], {"tensors": tensors, "op": op}


def main(kills: str) -> None:
    """Kill, and look."""
    chance = random.Random(5)
    for number in range(int(kills)):
        kill(f"killed rank {number}", chance.random() / 5)
    print(json.dumps(dict(committed(folder) for folder in spool_root(os.environ).iterdir())))


if __name__ == "__main__":
    main(*sys.argv[1:])
