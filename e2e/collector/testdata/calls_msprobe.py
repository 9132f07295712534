"""A program that drives msProbe itself, as engines do."""

import sys

import torch
from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all(mode=True)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
debugger = PrecisionDebugger(config_path=sys.argv[1])
for _ in range(2):
    debugger.start(model=model)
    model(torch.ones(1, 4))
    debugger.stop()
    debugger.step()
