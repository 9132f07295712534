"""Trains a few steps at a learning rate and with threads that are given, and then finds no further data."""

import os

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(int(os.environ["THREADS"]))
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=float(os.environ["RATE"]))


def training_step(batch: torch.Tensor) -> None:
    model.train()
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def validation_step(batch: torch.Tensor) -> None:
    model.eval()
    with torch.no_grad():
        model(batch)


def next_batch(step: int) -> torch.Tensor:
    if step == 2:
        raise FileNotFoundError("shard 7 of the data")
    return torch.randn(2, 4)


validation_step(torch.ones(2, 4))
for step in range(3):
    training_step(next_batch(step))
