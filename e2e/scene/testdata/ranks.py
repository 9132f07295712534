"""Starts the ranks of a job. Under torchrun it is one of them; else it forks them, so that PyTorch is imported once and not five times."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta

import torch._dynamo  # optimizers import it: once, before the ranks are forked
import torch.distributed as dist

WORLD = 4


def start(job: Callable[[], None], timeout: float = 900) -> None:
    """Run the job on every rank, with gloo. Each rank returns from here; who has forked them ends with their status."""
    if "RANK" in os.environ:
        _run(job, timeout, init_method="env://")
        return
    folder, ranks = tempfile.mkdtemp(), []
    for rank in range(WORLD):
        child = os.fork()
        if not child:
            _run(job, timeout, init_method=f"file://{folder}/store", rank=rank, world_size=WORLD)
            return
        ranks.append(child)
    status = _wait(ranks)
    shutil.rmtree(folder)
    sys.exit(status)


def _wait(ranks: list[int]) -> int:
    """The first status that is not 0, after which the other ranks are ended, as they are when this process is."""
    signal.signal(signal.SIGTERM, lambda *_: _end(ranks, signal.SIGKILL))
    first = 0
    while ranks:
        child, status = os.wait()
        ranks.remove(child)
        if status and not first:
            first = abs(os.waitstatus_to_exitcode(status))
            _end(ranks, signal.SIGTERM)
    return first


def _end(ranks: list[int], how: signal.Signals) -> None:
    for child in ranks:
        os.kill(child, how)


def _run(job: Callable[[], None], timeout: float, **where: object) -> None:
    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout), **where)
    torch.set_num_threads(1)
    job()
    dist.destroy_process_group()
