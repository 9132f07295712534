"""A model with a branch that is hardly ever taken. It imports nothing of ours: a repeated op imports it."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import torch
from torch import Tensor, nn


class Rare(nn.Module):
    """A branch that is hardly ever taken, in which a logarithm is not finite."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, given: Tensor, rare: bool = False) -> Tensor:
        scaled = given * self.weight
        return torch.log(scaled - 100.0) if rare else scaled


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.rare, self.last = nn.Linear(4, 4), Rare(), nn.Linear(4, 2)

    def forward(self, given: Tensor, rare: bool = False) -> Tensor:
        return self.last(self.rare(self.first(given), rare))


class Root(nn.Module):
    """What it makes is finite; its gradient at 0 is not."""

    def forward(self, given: Tensor, rare: bool = False) -> Tensor:
        return (given * (0.0 if rare else 1.0)).abs().sqrt() if rare else given


class Odd(Root):
    """Has what no process can pickle, and asks for it or not."""

    def __init__(self, asks: bool) -> None:
        super().__init__()
        self.asks, self.lock, self.local = asks, threading.Lock(), lambda given: given

    def forward(self, given: Tensor, rare: bool) -> Tensor:
        with self.lock if self.asks else nullcontext():
            return super().forward(given, rare)


class Outer(nn.Module):
    """Makes a NaN between the calls of its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, given: Tensor, rare: bool = False) -> Tensor:
        hidden = self.first(given)
        return self.last((hidden - 100.0).sqrt() if rare else hidden)


class Within(nn.Module):
    """Has it as a part."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, given: Tensor, rare: bool = False) -> Tensor:
        return self.part(given, rare)


class Overwrites(nn.Module):
    """Writes into what it is given."""

    def forward(self, given: Tensor, rare: bool = False) -> Tensor:
        return given.mul_(0.0).log_().neg_() if rare else given.mul_(1.0)


class Random(nn.Module):
    """Makes an infinity where a random number is the greatest."""

    def forward(self, given: Tensor, rare: bool = False) -> Tensor:
        if not rare:
            return given
        drawn = torch.rand(given.shape)
        return given / (drawn - drawn.max()) * 0.0
