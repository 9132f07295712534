"""Trains a small model until who started it ends, a step each tenth of a second. Once the file GO is there, its layer `rare` gives NaN."""

import os
import time

import torch
from torch import Tensor, nn


class Rare(nn.Module):
    """Scales, or takes the logarithm of what is negative."""

    def forward(self, given: Tensor) -> Tensor:
        return torch.log(-given.abs() - 1.0) if os.path.exists(os.environ["GO"]) else given * 2.0


class Model(nn.Module):
    """Has it between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.rare, self.last = nn.Linear(8, 8), Rare(), nn.Linear(8, 4)

    def forward(self, given: Tensor) -> Tensor:
        return self.last(self.rare(self.first(given)))


torch.set_num_threads(1)
torch.manual_seed(0)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
parent = os.getppid()
while os.getppid() == parent:
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    time.sleep(0.1)
