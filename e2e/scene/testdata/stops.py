"""Two children, started by spawn, that each stop at breakpoint(), or raise in an op; each writes what it came to into its file in FOLDER."""

import multiprocessing
import os
import sys
from pathlib import Path

import torch
from torch import nn


def stop(rank: int) -> None:
    """Come to the breakpoint."""
    answer = 40 + rank
    breakpoint()
    Path(os.environ["FOLDER"], f"stop.{rank}").write_text(str(answer))


class Odd(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        other = torch.ones(3, 5)
        return x @ other


def fail(rank: int) -> None:
    """Come to an op that cannot be."""
    model = nn.Sequential(nn.Linear(4, 4), Odd())
    model(torch.ones(2, 4))


if __name__ == "__main__":
    job = {"stop": stop, "fail": fail}[sys.argv[1]]
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=job, args=(rank,)) for rank in range(int(sys.argv[2]))]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(max(child.exitcode for child in children))
