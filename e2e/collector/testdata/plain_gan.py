"""Two models that train against each other, without a word of tensortap. WRONG=1 scales a weight of the second."""

import os

import torch
from torch import nn


class Critic(nn.Sequential):
    pass


class Generator(nn.Sequential):
    pass


torch.manual_seed(0)
critic = Critic(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
generator = Generator(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
of_critic, of_generator = (torch.optim.SGD(model.parameters(), lr=0.01) for model in (critic, generator))
if os.environ.get("WRONG"):
    generator[2].weight.data *= 1.5
for _ in range(2):
    real, noise = torch.randn(16, 4), torch.randn(16, 2)
    (critic(real) - critic(generator(noise).detach())).mean().backward()
    of_critic.step()
    (-critic(generator(noise))).mean().backward()
    of_generator.step()
