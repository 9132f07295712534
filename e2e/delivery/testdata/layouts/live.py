"""A live run that stops after three steps until it is told to go on."""

import tensortap
import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
torch.manual_seed(0)
with tensortap.tap(model, run="live", level="L0") as tap:
    for step in range(6):
        if step == 3:
            input()
        model(torch.randn(3, 4))
        tap.step()
