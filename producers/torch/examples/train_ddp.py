"""Trains a small model on several ranks of this machine, tapped, with a fault on request.

    python train_ddp.py --run good
    python train_ddp.py --run bad --fault weight

It starts its ranks itself; under torchrun it is one of them. What it trains depends on --seed alone, so two runs differ
by their fault and nothing else. The faults:

    weight  from --fault-step on, a weight of layer 2 is 1.5 times as large, changed behind autograd's back through .data
    nan     at --fault-step, layer 2 returns a NaN deep inside its output, in a value that the loss does not depend on
    leak    in every step, each rank keeps another MiB
    raise   at --fault-step, layer 2 raises

All but leak befall the rank --fault-rank alone where that is given.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from typing import Any

import torch
import torch._dynamo  # optimizers import it: once, before the ranks are forked, instead of in each
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing.spawn import start_processes
from torch.nn.parallel import DistributedDataParallel

import tensortap

WIDTH, VOCABULARY, LAYERS, BATCH, LENGTH = 64, 128, 4, 4, 32
FAULTY_LAYER = 2
LEAKED_BYTES = 1 << 20


class Block(nn.Module):
    """Attention of one head and a feed-forward part; returns its hidden state and, nested, what it looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.fault = ""

    def forward(self, hidden: Tensor) -> dict[str, Any]:
        """Return {"hidden": …, "seen": {"scores": (greatest, least)}}."""
        if self.fault == "raise":
            raise RuntimeError("a fault on request")
        query, key, value = self.mix(self.norm(hidden)).chunk(3, dim=-1)
        scores = query @ key.transpose(-1, -2) / WIDTH**0.5
        hidden = hidden + scores.softmax(dim=-1) @ value
        hidden = hidden + self.feed(hidden)
        least = scores.detach().amin(dim=-1)
        if self.fault == "nan":
            least[0, 0] = float("nan")
        return {"hidden": hidden, "seen": {"scores": (scores.detach().amax(dim=-1), least)}}


class Model(nn.Module):
    """A small language model."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits."""
        hidden = self.embed(tokens)
        for layer in self.layers:
            hidden = layer(hidden)["hidden"]
        logits: Tensor = self.head(hidden)
        return logits


def train(rank: int, asked: argparse.Namespace) -> float:
    """Train as one rank; return the last loss."""
    torch.set_num_threads(1)
    torch.manual_seed(asked.seed)
    inner = Model()
    model = DistributedDataParallel(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(1000 * asked.seed + rank)
    loss, kept = torch.tensor(0.0), []
    with tensortap.tap(model, run=asked.run, level=asked.level, memory=asked.memory) as tap:
        for step in range(asked.steps):
            tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), generator=data)
            if asked.fault_rank in (-1, rank):
                prepare_fault(inner, step, asked)
            logits = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            if asked.fault == "leak":
                kept.append(torch.ones(LEAKED_BYTES, dtype=torch.uint8))
            tap.step()
            time.sleep(asked.pause)
    return float(loss.detach())


def prepare_fault(model: Model, step: int, asked: argparse.Namespace) -> None:
    """Make the fault that is due in this step."""
    layer = model.layers[FAULTY_LAYER]
    assert isinstance(layer, Block)
    due = step == asked.fault_step
    layer.fault = asked.fault if due and asked.fault in ("nan", "raise") else ""
    if due and asked.fault == "weight":
        layer.mix.weight.data.mul_(1.5)


def as_rank(rank: int, size: int, store: str, asked: argparse.Namespace) -> None:
    """Join the other ranks, train, and let rank 0 tell the last loss, exactly."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    loss = train(rank, asked)
    if rank == 0:
        print(f"last loss {loss:.6f} {loss.hex()}", flush=True)
    dist.destroy_process_group()


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--run", required=True, help="name of the run")
    reader.add_argument("--steps", type=int, default=40)
    reader.add_argument("--ranks", type=int, default=4)
    reader.add_argument("--level", default="L0", choices=("L0", "L1", "mix"))
    reader.add_argument("--memory", action="store_true", help="memory after each module, too")
    reader.add_argument("--fault", default="", choices=("", "weight", "nan", "leak", "raise"))
    reader.add_argument("--fault-step", type=int, default=30)
    reader.add_argument("--fault-rank", type=int, default=-1)
    reader.add_argument("--pause", type=float, default=0.0, help="seconds between steps, which are faster than those of real models")
    reader.add_argument("--seed", type=int, default=1)
    return reader.parse_args()


def main() -> None:
    """Be a rank under torchrun, else start all of them."""
    asked = read_arguments()
    if "RANK" in os.environ:
        as_rank(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://", asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        store = f"file://{folder}/store"
        start_processes(as_rank, (asked.ranks, store, asked), asked.ranks, start_method="fork")  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
