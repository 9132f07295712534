"""Trains a small transformer on four ranks. FAULT names what goes wrong: on one rank, in one step."""

import os
import signal

import ranks
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

WIDTH, VOCABULARY, BATCH, LENGTH, STEPS = 16, 32, 2, 8, 4
FAULT, RANK, STEP = os.environ.get("FAULT", ""), 2, 2


class Block(nn.Module):
    """Attention of one head, and a feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)
        self.due = ""

    def forward(self, hidden: Tensor) -> Tensor:
        query, key, value = self.mix(self.norm(hidden)).chunk(3, dim=-1)
        hidden = hidden + functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        if self.due == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        wide = functional.gelu(self.up(hidden))
        if self.due == "raise":
            return hidden + functional.linear(wide, self.down.weight[:, 1:], self.down.bias)
        return hidden + self.down(wide)


class Model(nn.Module):
    """A small language model."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.embed(tokens)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden)


def average(model: nn.Module) -> None:
    """Give all ranks the mean of their gradients."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train() -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = Model()
    if FAULT == "weight" and rank == RANK:
        model.layers[1].up.weight.data[3, 5] += 0.5
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(rank)
    for step in range(STEPS):
        model.layers[1].due = FAULT if (rank, step) == (RANK, STEP) else ""
        tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        average(model)
        optimizer.step()
        print(f"step {step}: loss {float(loss):.4f}", flush=True)


ranks.start(train)
