"""Trains a small Llama whose layers are split among ranks of this machine, tapped, with a fault on request.

    python train_tp.py --run whole --ranks 1
    python train_tp.py --run halves --ranks 2
    python train_tp.py --run bad --ranks 2 --fault weight

The weights depend on --seed alone, whatever the number of ranks: each rank cuts its part out of the same whole. With
--by dtensor, PyTorch splits the model and the collector knows the coordinates of the ranks; with --by hand, layers of
this file do, as those of training frameworks. With --msprobe FOLDER, msProbe dumps the same run instead, where it is
installed. The fault: the part of a weight of layer 1 that the last rank holds is 1.1 times as large.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing.spawn import start_processes

HIDDEN, HEADS, INNER, VOCABULARY, LAYERS, BATCH, LENGTH = 32, 4, 64, 48, 2, 2, 8


class Entering(torch.autograd.Function):
    """Hand the whole to each rank; backward, add up what the ranks give back."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor) -> Tensor:
        return whole.view_as(whole)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        summed = gradients[0].clone()
        dist.all_reduce(summed)
        return summed


class Leaving(torch.autograd.Function):
    """Add up the ranks' parts; backward, hand the gradient to each."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        summed = part.clone()
        dist.all_reduce(summed)
        return summed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0]


class Part(nn.Module):
    """One rank's part of a linear layer: its outputs (dimension 0 of the weight), or its inputs (dimension 1)."""

    def __init__(self, whole: nn.Linear, dimension: int) -> None:
        super().__init__()
        parts = whole.weight.detach().chunk(dist.get_world_size(), dimension)
        self.weight, self.dimension = nn.Parameter(parts[dist.get_rank()].clone()), dimension

    def forward(self, given: Tensor) -> Tensor:
        """Return this rank's outputs, or what all ranks' inputs add up to."""
        if self.dimension == 0:
            entered: Tensor = Entering.apply(given)
            return nn.functional.linear(entered, self.weight)
        left: Tensor = Leaving.apply(nn.functional.linear(given, self.weight))
        return left


class Attention(nn.Module):
    """Attention over as many heads as this rank holds."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(4))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return what the heads saw."""
        batch, length, _ = hidden.shape
        parts = (proj(hidden) for proj in (self.q_proj, self.k_proj, self.v_proj))
        query, key, value = (part.view(batch, length, -1, HIDDEN // HEADS).transpose(1, 2) for part in parts)
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        given: Tensor = self.o_proj(seen.transpose(1, 2).reshape(batch, length, -1))
        return given


class MLP(nn.Module):
    """The gated feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(HIDDEN, INNER, bias=False), nn.Linear(HIDDEN, INNER, bias=False)
        self.down_proj = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the part's output."""
        given: Tensor = self.down_proj(nn.functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))
        return given


class Layer(nn.Module):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm, self.self_attn = nn.RMSNorm(HIDDEN), Attention()
        self.post_attention_layernorm, self.mlp = nn.RMSNorm(HIDDEN), MLP()

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the new hidden state."""
        hidden = hidden + self.self_attn(self.input_layernorm(hidden))
        given: Tensor = hidden + self.mlp(self.post_attention_layernorm(hidden))
        return given


class Llama(nn.Module):
    """The model."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.lm_head = nn.RMSNorm(HIDDEN), nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits."""
        hidden = self.embed_tokens(tokens)
        for layer in self.layers:
            hidden = layer(hidden)
        logits: Tensor = self.lm_head(self.norm(hidden))
        return logits


# By the dimension of the weight that is cut.
SPLIT = {
    "self_attn.q_proj": 0,
    "self_attn.k_proj": 0,
    "self_attn.v_proj": 0,
    "self_attn.o_proj": 1,
    "mlp.gate_proj": 0,
    "mlp.up_proj": 0,
    "mlp.down_proj": 1,
}


def split_by_hand(model: Llama) -> None:
    """Put parts in the place of layers."""
    for layer in model.layers:
        for name, dimension in SPLIT.items():
            whole = layer.get_submodule(name)
            assert isinstance(whole, nn.Linear)
            layer.set_submodule(name, Part(whole, dimension))


def split_by_dtensor(model: Llama) -> None:
    """Let PyTorch split the layers."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    plan: dict[str, ParallelStyle] = {
        f"layers.*.{name}": RowwiseParallel() if dimension else ColwiseParallel() for name, dimension in SPLIT.items()
    }
    parallelize_module(model, mesh, plan)


def build(asked: argparse.Namespace) -> Llama:
    """Make this rank's model, with the fault that was asked for."""
    torch.manual_seed(asked.seed)
    model = Llama()
    if asked.ranks > 1:
        split_by_dtensor(model) if asked.by == "dtensor" else split_by_hand(model)
    if asked.fault and dist.get_rank() == asked.ranks - 1:
        weight = model.get_parameter("layers.1.mlp.up_proj.weight")
        part: Tensor = getattr(weight, "_local_tensor", weight)
        part.data.mul_(1.1)
    return model


def train(asked: argparse.Namespace) -> float:
    """Train as one rank; return the last loss."""
    torch.set_num_threads(1)
    model = build(asked)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(asked.seed)
    if asked.msprobe:
        return train_for_msprobe(model, optimizer, data, asked)
    import tensortap

    loss = torch.tensor(0.0)
    with tensortap.tap(model, run=asked.run, level=asked.level, sketch=asked.sketch, digest=asked.sketch) as tap:
        for _ in range(asked.steps):
            loss = one_step(model, optimizer, data)
            tap.step()
    return float(loss.detach())


def train_for_msprobe(model: Llama, optimizer: torch.optim.SGD, data: torch.Generator, asked: argparse.Namespace) -> float:
    """Train under msProbe."""
    msprobe: Any = importlib.import_module("msprobe.pytorch")
    debugger = msprobe.PrecisionDebugger(task="statistics", level=asked.level, dump_path=asked.msprobe)
    loss = torch.tensor(0.0)
    for _ in range(asked.steps):
        debugger.start(model=model)
        loss = one_step(model, optimizer, data)
        debugger.stop()
        debugger.step()
    return float(loss.detach())


def one_step(model: Llama, optimizer: torch.optim.SGD, data: torch.Generator) -> Tensor:
    """Train one step; return the loss."""
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), generator=data)
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()
    return loss


def as_rank(rank: int, store: str, asked: argparse.Namespace) -> None:
    """Join the other ranks, train, and let rank 0 tell the last loss."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(asked.ranks), LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=asked.ranks)
    loss = train(asked)
    if rank == 0:
        print(f"last loss {loss:.6f}", flush=True)
    dist.destroy_process_group()


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--run", required=True, help="name of the run")
    reader.add_argument("--ranks", type=int, default=2)
    reader.add_argument("--by", default="hand", choices=("hand", "dtensor"))
    reader.add_argument("--steps", type=int, default=1)
    reader.add_argument("--level", default="mix", choices=("L0", "L1", "mix"))
    reader.add_argument("--sketch", action="store_true", help="sketches and digests, too")
    reader.add_argument("--msprobe", default="", help="folder for msProbe's dump")
    reader.add_argument("--fault", default="", choices=("", "weight"))
    reader.add_argument("--seed", type=int, default=1)
    return reader.parse_args()


def main() -> None:
    """Be a rank under torchrun, else start all of them."""
    asked = read_arguments()
    if "RANK" in os.environ:
        asked.ranks = int(os.environ["WORLD_SIZE"])
        as_rank(int(os.environ["RANK"]), "env://", asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        start_processes(as_rank, (f"file://{folder}/store", asked), asked.ranks, start_method="fork")


if __name__ == "__main__":
    main()
