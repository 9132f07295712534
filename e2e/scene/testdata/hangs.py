"""A small training of four ranks that averages its gradients itself, of steps 0 to 7.

SKIP=2 has that rank leave out the reduction of step 5, SLEEP=2 has it sleep in step 5 until there is the file TOLD.
"""

import os
import time

import ranks
import torch
import torch.distributed as dist
from torch import nn

STEP = 5


def is_me(step: int, switch: str) -> bool:
    """Whether this rank is to misbehave in this step."""
    return step == STEP and os.environ.get(switch) == str(dist.get_rank())


def train() -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        optimizer.zero_grad()
        out = model(torch.randn(2, 4, 16))
        if is_me(step, "SLEEP"):
            while not os.path.exists(os.environ["TOLD"]):
                time.sleep(0.1)
        out.square().mean().backward()
        gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        if not is_me(step, "SKIP"):
            dist.all_reduce(gradient)
        dist.barrier()
        optimizer.step()


ranks.start(train)
