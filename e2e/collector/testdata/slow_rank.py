"""Two ranks train until they are killed; rank 1 prepares its batches slowly. Takes the run's name."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn

import tensortap


def prepares_slowly(rounds: int) -> int:
    """Work that only Python sees."""
    return sum(number * number for number in range(rounds))


def train(rank: int, place: str) -> None:
    """Steps without an end."""
    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tensortap.tap(model, run=sys.argv[1], level="L0"):
        while True:
            prepares_slowly(200_000 if rank else 10)
            optimizer.zero_grad()
            model(torch.ones(2, 8)).square().mean().backward()
            optimizer.step()


place = os.path.join(tempfile.mkdtemp(), "store")
if not os.fork():
    train(1, place)
train(0, place)
