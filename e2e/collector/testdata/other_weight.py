"""Two layers; by OTHER, one element of the second one's weight is another before the first step."""

import os

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
if os.environ["OTHER"] == "1":
    with torch.no_grad():
        model[2].weight[1, 3] += 1e-3
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).square().mean().backward()
    optimizer.step()
