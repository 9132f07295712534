"""Trainings in the ways that programs train: each makes a model of a fixed seed, and the function of one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import fsdp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils import checkpoint

WIDTH, BATCH = 16, 8
_OVERFLOWS = 2.0**26  # scale of a loss whose gradients are none in half precision


class Block(nn.Module):
    """Norm, two linear layers and dropout, with a residual: a tap that drew a random number would change what follows."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(WIDTH), nn.Dropout(0.1)
        self.up, self.act, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, hidden: Tensor) -> Tensor:
        """One block."""
        return hidden + self.drop(self.down(self.act(self.up(self.norm(hidden)))))


class Net(nn.Module):
    """A few blocks, each run by a function if one is given, as a checkpoint is."""

    def __init__(self, blocks: int = 3, run: Callable[..., Tensor] | None = None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.run = run

    def forward(self, hidden: Tensor) -> Tensor:
        """All blocks."""
        for block in self.blocks:
            hidden = self.run(block, hidden) if self.run else block(hidden)
        return hidden


@dataclass(frozen=True, kw_only=True)
class Training:
    """A model, its optimizer, and what one step does between zero_grad and the end of it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    learn: Callable[[Tensor], None]  # all of a step but the optimizer's
    update: Callable[[], object]

    def step(self, number: int) -> None:
        """One step, on a batch of that number and of the rank."""
        self.optimizer.zero_grad()
        chance = torch.Generator().manual_seed(1000 * number + (dist.get_rank() if dist.is_initialized() else 0))
        self.learn(torch.randn(BATCH, WIDTH, generator=chance))
        self.update()

    def bits(self) -> list[bytes]:
        """Weights, gradients, what the optimizer keeps, and the state of chance."""
        return [_bits(tensor) for tensor in self._tensors()]

    def _tensors(self) -> Iterator[Tensor]:
        for parameter in self.model.parameters():
            yield parameter
            if parameter.grad is not None:
                yield parameter.grad
        yield from self.model.buffers()
        for kept in self.optimizer.state.values():
            yield from (value for value in kept.values() if isinstance(value, Tensor))
        yield torch.get_rng_state()


def _bits(tensor: Tensor) -> bytes:
    local: Tensor = getattr(tensor, "_local_tensor", tensor)
    return local.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _training(model: nn.Module, learn: Callable[[Tensor], None] | None = None) -> Training:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def backward(batch: Tensor) -> None:
        model(batch).square().mean().backward()

    return Training(model=model, optimizer=optimizer, learn=learn or backward, update=optimizer.step)


def ddp() -> Training:
    """Replicas, in buckets of gradients so small that there are several."""
    return _training(DistributedDataParallel(Net(2), bucket_cap_mb=0.001))


def fsdp2() -> Training:
    """Weights, gradients and optimizer sharded, block by block."""
    model, mesh = Net(2), init_device_mesh("cpu", (2,))
    for block in model.blocks:
        fsdp.fully_shard(block, mesh=mesh)
    fsdp.fully_shard(model, mesh=mesh)
    return _training(model)


def tensor_parallel() -> Training:
    """Linear layers split between the ranks."""
    model, mesh = Net(2), init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    for block in model.blocks:
        block.drop = nn.Identity()  # chance of a DTensor is another on each rank only where a device has its own
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return _training(model)


def pipeline() -> Training:
    """Two stages, four micro batches, one forward and one backward by turns."""
    rank, stages = dist.get_rank(), [Net(1), Net(1)]
    model = stages[rank]
    stage = PipelineStage(model, rank, 2, torch.device("cpu"), input_args=torch.zeros(BATCH // 4, WIDTH))
    schedule = Schedule1F1B(stage, 4, loss_fn=nn.functional.mse_loss)

    def learn(batch: Tensor) -> None:
        if rank == 0:
            schedule.step(batch)
        else:
            schedule.step(target=batch, losses=[])

    return _training(model, learn)


def selective_checkpointing() -> Training:
    """Products of matrices are kept, and all else is computed again in the backward pass."""

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> checkpoint.CheckpointPolicy:
        kept = op in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default)
        return checkpoint.CheckpointPolicy.MUST_SAVE if kept else checkpoint.CheckpointPolicy.PREFER_RECOMPUTE

    contexts = partial(checkpoint.create_selective_checkpoint_contexts, policy)
    return _training(Net(run=partial(checkpoint.checkpoint, use_reentrant=False, context_fn=contexts)))


def amp() -> Training:
    """Half precision with a loss scale that overflows at first, so that steps are skipped."""
    model = Net()
    training = _training(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=_OVERFLOWS, growth_interval=3)
    model.register_buffer("scale", torch.tensor(_OVERFLOWS))

    def learn(batch: Tensor) -> None:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).float().square().mean()
        scaler.scale(loss).backward()

    def update() -> None:
        scaler.step(training.optimizer)
        scaler.update()
        model.scale.fill_(scaler.get_scale())

    return Training(model=model, optimizer=training.optimizer, learn=learn, update=update)


def gradient_penalty() -> Training:
    """The graph is run for the gradients of the inputs, then backward twice: for the loss, and for the penalty."""
    model = Net()

    def learn(batch: Tensor) -> None:
        given = batch.requires_grad_()
        loss = model(given).square().mean()
        (gradient,) = torch.autograd.grad(loss, given, create_graph=True)
        loss.backward(retain_graph=True)
        (gradient.norm(dim=1) - 1).square().mean().backward()

    return _training(model, learn)


def compiled() -> Training:
    """Compiled by Inductor, forward and backward."""
    torch.compiler.reset()
    return _training(torch.compile(Net(2), fullgraph=True, dynamic=False))  # type: ignore[arg-type]
