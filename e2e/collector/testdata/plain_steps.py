"""A training of many short steps, without a word of tensortap: how many, how long each waits for its data, and which has a loss of NaN."""

import sys
import time

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
bad = int(sys.argv[3]) if len(sys.argv) > 3 else -1
for step in range(int(sys.argv[1])):
    time.sleep(float(sys.argv[2]))
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8)).square().mean()
    if step == bad:  # the step is skipped, as by a scaler of losses
        (loss * float("nan")).backward()
        optimizer.zero_grad()
    else:
        loss.backward()
    optimizer.step()
