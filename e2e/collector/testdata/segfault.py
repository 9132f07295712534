"""The second step reads where nothing is."""

import ctypes

import torch
from torch import nn


class Reads(nn.Module):
    def forward(self, given: torch.Tensor) -> torch.Tensor:
        if given[0, 0] > 1:
            read_nothing()
        return given


def read_nothing() -> None:
    ctypes.string_at(0)


model = nn.Sequential(nn.Linear(4, 4), Reads())
nn.init.zeros_(model[0].bias)
nn.init.constant_(model[0].weight, 0.1)  # a drawn weight exceeds 1 in the first step of one run in twenty
for step in range(2):
    model(torch.ones(2, 4))
    model[0].bias.data.fill_(9)
