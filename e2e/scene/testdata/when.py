"""Trains a small model on two ranks, whose losses grow on rank 1 from step 3 on. It kills itself in step KILL, has another
weight from step DIFFER on, and goes on until AWAIT has raw tensors below it."""

import os
import signal
import time
from pathlib import Path

import ranks
import torch
import torch.distributed as dist
from torch import nn

STEPS, PATIENCE = 8, 240
KILL, DIFFER, AWAIT = int(os.environ.get("KILL", -1)), int(os.environ.get("DIFFER", -1)), os.environ.get("AWAIT", "")


def goes_on(step: int, began: float) -> bool:
    """Whether there is a further step. Who waits leaves the machine to the others."""
    if not AWAIT or step < STEPS:
        return step < STEPS
    time.sleep(0.02)
    kept = any(Path(AWAIT).rglob("*.safetensors"))
    return not kept and time.monotonic() - began < PATIENCE


def train() -> None:
    rank, began, step = dist.get_rank(), time.monotonic(), 0
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    while goes_on(step, began):
        dist.barrier()  # of two ranks none is ended before the other has come as far
        if step == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if step == DIFFER:
            model[2].weight.data += 1
        loss = model(torch.ones(2, 4)).square().mean() * (1e6 if rank == 1 and step >= 3 else 1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1


ranks.WORLD = int(os.environ.get("WORLD", 2))
ranks.start(train)
