"""Children of every kind call the model too, and end in every way: by themselves, by os._exit, by signals, after their parent."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())


def compute(*_: object) -> float:
    for _step in range(2):
        answer = model(torch.ones(1, 4))
    return float(answer.sum().detach())


class Rows(Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> float:
        return compute()


def forked(end) -> None:
    if not (child := os.fork()):
        compute()
        end()
    os.waitpid(child, 0)


def started(method: str) -> None:
    process = multiprocessing.get_context(method).Process(target=compute)
    process.start()
    process.join()
    assert process.exitcode == 0


def join(barrier) -> None:
    """A pool ends its processes, whatever they do: each has computed before."""
    compute()
    barrier.wait(60)


def pooled(method: str) -> None:
    context = multiprocessing.get_context(method)
    with context.Pool(2, initializer=join, initargs=(context.Barrier(3),)) as pool:
        pool._initargs[0].wait(60)
        pool.map(compute, range(4))


def outlive(seconds: float) -> None:
    """A child that its parent does not wait for."""
    if not os.fork():
        os.setsid()
        compute()
        time.sleep(seconds)
        compute()
        os._exit(0)


def main(case: str) -> None:
    if case == "child":
        compute()
        return
    if case == "cold":  # the parent calls no model
        pooled("fork")
        return
    compute()
    if case == "restarted" and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise SystemExit(3)
    if case.startswith("outlived"):
        outlive(float(case.partition("=")[2]))
    if case != "warm":
        return
    forked(lambda: os._exit(5))
    forked(lambda: os.kill(os.getpid(), signal.SIGKILL))
    for method in ("fork", "spawn", "forkserver"):
        started(method)
    pooled("spawn")
    for _rows in DataLoader(Rows(), num_workers=2):
        pass
    subprocess.run([sys.executable, __file__, "child"], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
