"""A training script as users of msProbe have it; which debugger it imports is all that differs.

    python migrated.py msprobe.pytorch|tensortap CONFIG.json
"""

from __future__ import annotations

import importlib
import sys

import torch
from torch import Tensor, nn
from torch.nn import functional


class Mixer(nn.Module):
    """A module with APIs of its own between those of its children."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, given: Tensor) -> Tensor:
        """Return something of the same shape."""
        mixed = functional.silu(self.up(given)).reshape(2, -1, 16)
        added: Tensor = self.down(mixed.reshape(-1, 16)) * 0.5
        return given + added


class Model(nn.Module):
    """Three of them, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Mixer() for _ in range(3))
        self.head = nn.Linear(8, 4)

    def forward(self, given: Tensor) -> Tensor:
        """Return the loss."""
        for layer in self.layers:
            given = layer(given)
        loss: Tensor = self.head(given).softmax(dim=-1).square().mean()
        return loss


def main() -> None:
    """Train for two steps."""
    torch.manual_seed(0)
    model = Model()
    debugger = importlib.import_module(sys.argv[1]).PrecisionDebugger(config_path=sys.argv[2])
    for _ in range(2):
        debugger.start(model=model, rank_id=0)
        torch.autograd.backward(model(torch.randn(4, 8)))
        debugger.stop()
        debugger.step()


if __name__ == "__main__":
    main()
