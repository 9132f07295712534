"""Trains on two ranks as DistributedDataParallel does. In step 5 rank 1 takes a branch that makes a NaN."""

import ranks
import torch
import torch.distributed as dist
from torch import Tensor, nn

ranks.WORLD = 2
STEP, RANK, STEPS = 5, 1, 12


class Rare(nn.Module):
    """Scales, or takes the logarithm of what is negative."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.due = False

    def forward(self, given: Tensor) -> Tensor:
        scaled = given * self.weight
        return torch.log(scaled - 100.0) if self.due else scaled


class Model(nn.Module):
    """Has it between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.rare, self.last = nn.Linear(8, 8), Rare(), nn.Linear(8, 4)

    def forward(self, given: Tensor) -> Tensor:
        return self.last(self.rare(self.first(given)))


def train() -> None:
    """Train to the end, unless told to stop."""
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = Model()
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05)
    step = -1
    try:
        for step in range(STEPS):
            model.rare.due = (rank, step) == (RANK, STEP)
            optimizer.zero_grad()
            parallel(torch.randn(4, 8)).square().mean().backward()
            optimizer.step()
    finally:
        print(f"rank {rank} leaves in order, the last step that it trained was {step}", flush=True)


if __name__ == "__main__":
    ranks.start(train)
