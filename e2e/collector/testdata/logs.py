"""Logs with fields, prints, and fails, while a model is called."""

import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("serving")


class Speaking(nn.Module):
    """Logs as it is called."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Log, and pass on."""
        log.info("serving %s", "it", extra={"request_id": "r-1", "tokens": 12})
        return x


model = nn.Sequential(Speaking(), nn.Linear(1, 1))
for _ in range(3):
    model(torch.ones(1))
print("loss: 0.125, step 2")
try:
    raise ValueError("bad")
except ValueError:
    log.exception("it failed")
