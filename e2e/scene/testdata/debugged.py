"""A small training of two ranks whose result is known to the last bit; each writes it to RESULT and its rank.

With WAIT=1 that rank waits in step 3 until there is the file GO.
"""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn


def await_go(step: int) -> None:
    """Wait, if this rank is to."""
    while step == 3 and os.environ.get("WAIT") == str(dist.get_rank()) and not os.path.exists(os.environ["GO"]):
        time.sleep(0.05)


def scaled(gradient: torch.Tensor, step: int) -> torch.Tensor:
    """A function to stop in."""
    factor = 1.0 / (step + 1)
    return gradient * factor


def train() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    for step in range(6):
        model(torch.randn(2, 8)).square().mean().backward()
        await_go(step)
        for parameter in model.parameters():
            gradient = scaled(parameter.grad, step)
            dist.all_reduce(gradient)
            parameter.data -= gradient
            parameter.grad = None
    Path(f"{os.environ['RESULT']}.{dist.get_rank()}").write_text(str([parameter.tolist() for parameter in model.parameters()]))


dist.init_process_group("gloo", init_method=f"file://{os.environ['RESULT']}.store", rank=int(os.environ["RANK"]), world_size=2)
train()
dist.destroy_process_group()
