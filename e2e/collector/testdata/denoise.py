"""A sampler's loop of 50 equal steps, without a word about a collector: denoise.py [copies|raises|dies]."""

import os
import signal
import sys

import torch
from torch import nn

fault = sys.argv[1] if len(sys.argv) > 1 else ""


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, hidden, step):
        hidden = self.inner(hidden.transpose(1, 2)).transpose(1, 2)
        if fault == "copies" and step >= 40:
            hidden = hidden.contiguous()
        if fault == "raises" and step == 30:
            return torch.mm(hidden[0], torch.ones(3, 5).t())
        if fault == "dies" and step == 30:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.relu(hidden)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Mixer() for _ in range(3))

    def forward(self, hidden, step):
        for block in self.blocks:
            hidden = hidden + block(hidden, step)
        return hidden


torch.manual_seed(0)
model, hidden = Denoiser(), torch.ones(2, 8, 8)
with torch.inference_mode():
    for step in range(50):
        hidden = hidden - 0.02 * model(hidden, step)
print("done", tuple(hidden.shape))
