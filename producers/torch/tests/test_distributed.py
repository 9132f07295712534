"""Collectives, DDP and DTensor, on two ranks by gloo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import reading
import torch
import torch.distributed as dist
from models import small, train
from ranks import on_ranks
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tensortap
from tensortap._health.topology import place


def _on_two_ranks(root: Path, work: Callable[[int, Path], None]) -> list[reading.Spooled]:
    """Run the work in two children; what each spooled."""
    on_ranks(2, root, work)
    return [reading.only(root / f"rank{rank}") for rank in range(2)]


class _Summed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.proj(x)
        summed = y.detach().clone()
        dist.all_reduce(summed)
        work = dist.all_reduce(summed, async_op=True)
        gathered = [torch.empty(3, 4), torch.empty(3, 4)]
        dist.all_gather(gathered, summed)
        work.wait()
        return y + gathered[1]


class _Reduced(nn.Module):
    """What a row-parallel layer does: its inner layer's output is summed over the ranks where it lies."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.inner(x)
        dist.all_reduce(y)
        work = dist.all_reduce(y, async_op=True)
        work.wait()
        return y


def _written_in_place(level: str) -> Callable[[int, Path], None]:
    def work(rank: int, root: Path) -> None:
        model = nn.Sequential(_Reduced())
        for parameter in model.parameters():
            nn.init.constant_(parameter, rank + 1)
        with torch.no_grad(), tensortap.tap(model, run="ranks", level=level, spool=root):
            model(torch.ones(1, 4))

    return work


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_what_a_collective_wrote_is_read_anew(level: str, tmp_path: Path) -> None:
    """Collectives raise no version. Rank r's layer gives 5(r+1) each, the sum of both is 15, and summed again 30."""
    for rank, spooled in enumerate(_on_two_ranks(tmp_path, _written_in_place(level))):
        means = {(value.op, value.role): value.row[6] for value in spooled.steps[0].values if value.path == "0"}
        assert means["Module.0.inner.Linear.forward.0", "output"] == 5 * (rank + 1)
        assert means["Module.0._Reduced.forward.0", "output"] == 30
        if level == "mix":
            first, second = "Distributed.all_reduce.0.forward", "Distributed.all_reduce.1.forward"
            assert [means[first, "input"], means[first, "output"]] == [5 * (rank + 1), 15]
            assert [means[second, "input"], means[second, "output"]] == [15, 30]


def _collective(rank: int, root: Path) -> None:
    torch.manual_seed(rank)
    model = nn.Sequential(_Summed())
    with tensortap.tap(model, run="ranks", level="mix", spool=root):
        model(torch.ones(3, 4)).sum().backward()
    assert dist.all_reduce is dist.distributed_c10d.all_reduce
    assert dist.all_reduce.__module__ == dist.distributed_c10d.__name__


def test_collectives_are_on_file_before_they_run_and_complete_when_waited_for(tmp_path: Path) -> None:
    for rank, spooled in enumerate(_on_two_ranks(tmp_path, _collective)):
        (step,) = spooled.steps
        assert spooled.definitions[0]["world_size"] == 2 and spooled.definitions[1]["rank"] == rank
        begun = [name for name in step.begun if name.startswith("Distributed")]
        assert begun == [
            "Distributed.all_reduce.0.forward",
            "Distributed.all_reduce.1.forward",
            "Distributed.all_gather.0.forward",
        ]
        ended = [name for name in step.completed if name.startswith("Distributed")]
        assert ended == [begun[0], begun[2], begun[1]], "the asynchronous one is complete when it was waited for"
        assert step.parents[begun[0]] == "Module.0._Summed.forward.0"
        values = {(value.op, value.role, value.path): value.layout for value in step.values}
        assert values[begun[0], "output", "0"]["shape"] == [3, 4]
        assert values[begun[2], "output", "0.1"]["shape"] == [3, 4]
        assert values[begun[2], "input", "0"]["kind"] == "none", "what is received is no input"
        assert not step.unseen


def _parallel(rank: int, root: Path) -> None:
    model, batch = small()
    want = [parameter.detach().clone() for parameter in _trained(DistributedDataParallel(model), batch, rank)]
    model, batch = small()
    wrapped = DistributedDataParallel(model)
    with tensortap.tap(wrapped, run="ranks", level="mix", spool=root):
        recorded = _trained(wrapped, batch, rank)
    assert all(torch.equal(one, other) for one, other in zip(recorded, want, strict=True))


def _trained(model: nn.Module, batch: torch.Tensor, rank: int) -> list[torch.Tensor]:
    train(model, batch + rank, 3)
    return list(model.parameters())


def test_ddp_trains_to_the_same_bits_and_is_recorded_under_its_names(tmp_path: Path) -> None:
    for spooled in _on_two_ranks(tmp_path, _parallel):
        assert len(spooled.steps) == 3
        step = spooled.steps[1]
        assert "Module.module.blocks.0.up.Linear.forward.0" in step.completed
        assert "Module.module.blocks.0.up.Linear.parameters_grad.0" in step.completed
        assert not any(reason == "hook error" for reason, _ in step.unseen)


def _sharded(rank: int, root: Path) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model, batch = small()
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    for block in model.blocks:
        block.act = nn.ReLU()  # in place it raises on what was a DTensor, with or without us
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    with tensortap.tap(model, run="ranks", level="mix", spool=root):
        train(model, batch, 2)


def test_dtensors_are_recorded_by_their_shard_and_placement(tmp_path: Path) -> None:
    for rank, spooled in enumerate(_on_two_ranks(tmp_path, _sharded)):
        assert (spooled.definitions[1]["tp"], spooled.definitions[1]["tp_size"]) == (rank, 2)
        step = spooled.steps[1]
        (weight,) = {
            (tuple(value.layout["shape"]), value.layout["literal"], value.layout["placement"])
            for value in step.values
            if value.op == "Module.blocks.0.up.Linear.forward.0" and (value.role, value.path) == ("parameter", "weight")
        }
        assert weight == ((16, 16), "torch.distributed.tensor.DTensor", '{"device_mesh":[0,1],"placements":[{"Shard":{"dim":0}}]}')
        assert not any(reason == "hook error" for reason, _ in step.unseen), step.unseen


def _placed(rank: int, root: Path) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    model = nn.Sequential(nn.Linear(4, 4))
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel()})
    found = place(model, {})
    assert (found.rank, found.world_size, found.coordinates) == (rank, 4, {"tp": (rank % 2, 2)})
    assert place(DistributedDataParallel(nn.Linear(1, 1)), {}).coordinates == {"dp": (rank, 4)}
    dist.barrier()


def test_coordinates_come_from_meshes_and_wrappers(tmp_path: Path) -> None:
    on_ranks(4, tmp_path, _placed)
