"""Says of itself what no hook sees, as docs/logs.md shows."""

import time

import tensortap
import torch
from torch import nn

tensortap.note(phase="start", seed=7)


class Telling(nn.Module):
    """Notes as it is called."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Note, and pass on."""
        tensortap.note(loss=0.25, request="r-1")
        return x


model = nn.Sequential(Telling(), nn.Linear(8, 1))
for step in range(3):
    with tensortap.timer("load"):
        time.sleep(0.01)
        batch = torch.randn(2, 8)
    model(batch)
    tensortap.save("batch", batch)
    tensortap.note(loss=float("nan") if step == 2 else 0.5, phase="warm-up", naïve="ключ\n\x1b[2J")
