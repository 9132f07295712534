"""Trains a small model on four ranks, and logs how. WRONG=1 has one head's weights be others, DIES=2 has that rank die in step 3."""

import logging
import os
import signal

import ranks
import torch
import torch.distributed as dist
from torch import nn


class Attention(nn.Module):
    """Four heads, of which each has a part of the rows of its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.out = nn.Linear(32, 32), nn.Linear(32, 32, dtype=torch.bfloat16)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        heads = self.query(given).unflatten(-1, (4, 8)).transpose(1, 2)
        weights = torch.softmax(heads @ heads.transpose(-1, -2), -1)
        return self.out((weights @ heads).transpose(1, 2).flatten(2).bfloat16()).float()


class Last(nn.Module):
    """Where the rank dies."""

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled() and Last.step == 3 and os.environ.get("DIES") == str(dist.get_rank()):
            os.kill(os.getpid(), signal.SIGKILL)
        return given.square().mean()

    step = 0


def train() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    log = logging.getLogger("trainer")
    torch.manual_seed(0)
    model = nn.Sequential(nn.LayerNorm(32), Attention(), Last())
    if os.environ.get("WRONG"):
        with torch.no_grad():
            model[1].query.weight[8:16].mul_(1.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    log.info("rank %d of %d begins", dist.get_rank(), dist.get_world_size())
    for step in range(5):
        Last.step = step
        optimizer.zero_grad()
        loss = model(torch.randn(2, 12, 32))
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
        if step == 2 and dist.get_rank() == 2:
            log.warning("memory of <b>node7</b> is running low: \u202e 12 MiB left")
            try:
                torch.ones(2) @ torch.ones(3)
            except RuntimeError:
                log.exception("this batch is skipped")


ranks.start(train)
