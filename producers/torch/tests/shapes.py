"""Records tensors of many shapes twice, the second time with errors of many kinds, and prints how great each error is.

    python -m tests.shapes GOOD BAD

GOOD and BAD are the names of the runs. The last line is JSON: the relative L2 error of each module's output, in float64.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn

import tensortap

TENSORS = 240
Error = Callable[[Tensor, torch.Generator], Tensor]


def noise(given: Tensor, chance: torch.Generator) -> Tensor:
    """A little of everything."""
    return given + 1e-3 * torch.randn(given.shape, generator=chance)


def shift(given: Tensor, chance: torch.Generator) -> Tensor:
    """The same on all elements."""
    return given + 0.01


def scaling(given: Tensor, chance: torch.Generator) -> Tensor:
    """All elements by a factor."""
    return given * 1.01


def low_rank(given: Tensor, chance: torch.Generator) -> Tensor:
    """One row's error on all rows."""
    return given + 0.01 * torch.randn(given.shape[-1:], generator=chance)


def half(given: Tensor, chance: torch.Generator) -> Tensor:
    """Half as many bits."""
    return given.to(torch.bfloat16).to(given.dtype)


ERRORS: tuple[Error, ...] = (noise, shift, scaling, low_rank, half)


class Shown(nn.Module):
    """Passes each tensor through a module of its own."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.given = nn.ModuleList(nn.Identity() for _ in range(count))

    def forward(self, tensors: list[Tensor]) -> None:
        """Record them."""
        for module, tensor in zip(self.given, tensors, strict=True):
            module(tensor)


def many(chance: torch.Generator) -> list[Tensor]:
    """Tensors of one to four dimensions, hardly two of a shape."""
    made = []
    for _ in range(TENSORS):
        dimensions = int(torch.randint(1, 5, (), generator=chance))
        longest = (20_000, 200, 30, 12)[dimensions - 1]
        shape = torch.randint(2, longest, (dimensions,), generator=chance).tolist()
        made.append(torch.randn(shape, generator=chance) * 10 ** float(torch.randn((), generator=chance)))
    return made


def record(run: str, tensors: list[Tensor]) -> None:
    """Record them as one step of a run."""
    model = Shown(len(tensors))
    with tensortap.tap(model, run=run, level="L0", sketch=True, stacks=False):
        model(tensors)


def main(good: str, bad: str) -> None:
    """Record both runs and print the errors."""
    chance = torch.Generator().manual_seed(11)
    bench = many(chance)
    problem = [ERRORS[at % len(ERRORS)](tensor, chance) for at, tensor in enumerate(bench)]
    record(good, bench)
    record(bad, problem)
    errors = [float((wrong.double() - right.double()).norm() / right.double().norm()) for wrong, right in zip(problem, bench, strict=True)]
    print(json.dumps({f"Module.given.{at}.Identity.forward.0": error for at, error in enumerate(errors)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
