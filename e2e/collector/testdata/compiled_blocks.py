"""Runs a model of which a part is compiled, as servers of models are; with WRONG a weight inside that part is another."""

import os

import torch
from torch import nn

torch.manual_seed(3)
body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
model = nn.Sequential(nn.Linear(4, 4), body, nn.Linear(4, 4))
if os.environ.get("WRONG"):
    with torch.no_grad():
        body[0].weight *= 3
body.compile(backend="aot_eager")
with torch.no_grad():
    for step in range(3):
        model(torch.full((2, 4), 1.0 + step))
