"""Trains a small language model again and again, tapped: as it should be, and with each fault of a user's in turn.

    python faults.py MODE FAULT…

A run is named MODE FAULT LEVEL and is recorded at L0 and at mix. The modes: fp32; bf16 (autocast); micro (gradients of four
micro steps are added up); ddp (two ranks, started here). All that is random comes from one seed, so that runs differ by
their fault alone.
"""

from __future__ import annotations

import math
import os
import socket
import sys
from typing import Any

import torch
import torch._dynamo  # optimizers import it: once, before the ranks are forked, instead of in each
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing.spawn import start_processes
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import tensortap

WIDTH, HEADS, LAYERS, VOCABULARY, BATCH, LENGTH, STEPS = 32, 2, 2, 64, 8, 16, 6
DRAWN = 8  # batches, of which the first are trained with
MICRO_STEPS = {"micro": 4}
RARE_STEP = 5  # whose tokens hold one that takes the rare branch
RARE_TOKEN = VOCABULARY - 1


class Attention(nn.Module):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
        self.scale = 1.0 if fault == "scale" else 1 / math.sqrt(WIDTH // HEADS)

    def forward(self, hidden: Tensor) -> Tensor:
        batch, length, _ = hidden.shape
        parts = self.mix(hidden).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        scores = query @ key.transpose(-1, -2) * self.scale
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH))


class Feed(nn.Module):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.up, self.down, self.fault = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH), fault

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = self.up(hidden)
        if self.fault != "op missing":
            hidden = functional.gelu(hidden)
        hidden = self.down(hidden)
        if self.fault == "op more":
            hidden = torch.clamp(hidden, -0.2, 0.2)
        return hidden


class Rare(nn.Module):
    """Weighs tokens of one kind by how many of them there are."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def forward(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        if not (tokens == RARE_TOKEN).any():
            return hidden
        counts = (tokens == RARE_TOKEN).float().sum(1)
        weight = torch.log(counts if self.fault == "log" else counts.clamp(min=1))
        return hidden * (1 + weight)[:, None, None]


class Block(nn.Module):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.before, self.attention = nn.LayerNorm(WIDTH, eps=1e-3 if fault == "eps" else 1e-5), Attention(fault)
        self.between, self.feed = nn.LayerNorm(WIDTH), Feed(fault)
        self.dropout = nn.Dropout(0.1 if fault == "dropout" else 0.0)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.attention(self.before(hidden))
        return hidden + self.dropout(self.feed(self.between(hidden)))


class Model(nn.Module):
    """A fault of a layer is one of layer 1, that of the rare branch beside the layers."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block(fault if layer == 1 else "") for layer in range(LAYERS))
        self.rare, self.norm = Rare(fault), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = nn.Parameter(self.embed.weight.detach().clone()) if fault == "untied" else self.embed.weight

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.embed(tokens)
        for layer in self.layers:
            hidden = layer(hidden)
        logits: Tensor = self.head(self.norm(self.rare(hidden, tokens)))
        return logits


def batches(rank: int, fault: str) -> list[Tensor]:
    generator = torch.Generator().manual_seed(100 + rank)
    found = [torch.randint(0, RARE_TOKEN, (BATCH, LENGTH + 1), generator=generator) for _ in range(DRAWN)]
    found[RARE_STEP][0, 3] = RARE_TOKEN
    if fault == "shuffled" and rank == 1:
        found[3] = found[3].flip(0)[:, torch.randperm(LENGTH + 1, generator=generator)]
    return found[:STEPS]


def train(mode: str, fault: str, level: str, rank: int) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(2 if fault == "threads" else 1)
    model: nn.Module = Model(fault)
    if mode == "ddp":
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    begin = 0 if fault == "warm-up" else 1
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + begin) / 4))
    with tensortap.tap(model, run=f"{mode} {fault} {level}", level=level, threads=1):
        for step, tokens in enumerate(batches(rank, fault)):
            train_step(model, tokens, (mode, fault, step))
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()


def train_step(model: nn.Module, tokens: Tensor, at: tuple[str, str, int]) -> None:
    mode, fault, step = at
    parts = MICRO_STEPS.get(mode, 1)
    for micro, part in enumerate(tokens.chunk(parts)):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "bf16"):
            logits = model(part[:, :-1])
            smoothing = 0.1 if fault == "smoothing" else 0.0
            loss = functional.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten(), label_smoothing=smoothing)
        if parts > 1:
            divisor = parts / 2 if fault == "loss scale" and (step, micro) == (2, 2) else parts
            loss = loss / divisor
        loss.backward()


def as_rank(rank: int, size: int, port: int, mode: str, faults: list[str]) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    train_all(mode, faults, rank)
    dist.destroy_process_group()


def train_all(mode: str, faults: list[str], rank: int = 0) -> None:
    for fault in faults:
        for level in ("L0", "mix"):
            train(mode, fault, level, rank)


def main() -> None:
    mode, faults = sys.argv[1], sys.argv[2:]
    if mode != "ddp":
        train_all(mode, faults)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked: tuple[Any, ...] = (2, port, mode, faults)
    start_processes(as_rank, asked, 2, start_method="fork")  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
