"""A training script that knows nothing of a collector: two ranks, three steps. WRONG=1 changes a weight on rank 1."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if os.environ.get("WRONG") and dist.get_rank() == 1:
    model.module[2].weight.data.mul_(1.5)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(2, 8)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
sys.exit(5)
