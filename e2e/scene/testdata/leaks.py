"""A training script of a small transformer that knows nothing of a collector. LEAK=1 keeps a MiB a step on rank 1, in one module,
and another on rank 2, in the state of its optimizer.
"""

import os

import ranks
import torch
import torch.distributed as dist
from torch import Tensor, nn

WIDTH, STEPS = 32, int(os.environ.get("STEPS", "200"))


class Cache(nn.Module):
    """Remembers what it was given, as somebody forgot to take out."""

    def __init__(self, leaks: bool) -> None:
        super().__init__()
        self.leaks, self.kept = leaks, []

    def forward(self, hidden: Tensor) -> Tensor:
        if self.leaks:
            self.kept.append(torch.ones(1 << 18))  # 1 MiB
        return hidden


class Block(nn.Module):
    def __init__(self, leaks: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.norm, self.cache = nn.LayerNorm(WIDTH), Cache(leaks)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.attention(hidden, hidden, hidden, need_weights=False)[0]
        return hidden + self.feed(self.cache(self.norm(hidden)))


class Model(nn.Module):
    def __init__(self, leaks: bool) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(64, WIDTH), nn.Linear(WIDTH, 64)
        self.layers = nn.ModuleList(Block(leaks and layer == 1) for layer in range(2))

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.embed(tokens)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden)


def train() -> None:
    torch.manual_seed(0)
    keeps = os.environ.get("LEAK") == "1" and dist.get_rank() == 2
    model = nn.parallel.DistributedDataParallel(Model(os.environ.get("LEAK") == "1" and dist.get_rank() == 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        tokens = torch.randint(0, 64, (4, 17))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()
        if keeps:
            optimizer.state[next(model.parameters())].setdefault("history", []).append(torch.ones(1 << 18))
    dist.barrier()


ranks.start(train)
