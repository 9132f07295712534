"""Trains a small model of float32 and bfloat16. With WRONG set, its last weight is another."""

import os

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 8, dtype=torch.bfloat16)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(given)).bfloat16())


torch.manual_seed(0)
model = Model()
if os.environ.get("WRONG"):
    with torch.no_grad():
        model.down.weight.mul_(1.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 16).requires_grad_()).float().square().mean().backward()
    optimizer.step()
