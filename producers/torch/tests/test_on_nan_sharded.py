"""The first value that is not finite, in a model that is sharded over ranks: no rank waits in a collective that is ours alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import rare
import reading
import torch
from ranks import on_ranks
from torch import nn
from torch.distributed._composable.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel

try:
    from torch.distributed.tensor import Shard, distribute_tensor
except ImportError:  # before PyTorch 2.5
    from torch.distributed._tensor import Shard, distribute_tensor  # type: ignore[no-redef]

import tensortap


class _Tensors(nn.Module):
    """Works on tensors that are sharded over ranks, and writes into one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.inner = rare.Overwrites()

    def forward(self, given: torch.Tensor, rare: bool = False) -> torch.Tensor:
        sharded = distribute_tensor(given, init_device_mesh("cpu", (2,)), [Shard(0)])
        return self.inner(sharded * 1.0, rare).to_local() * self.weight


class _Two(nn.Module):
    """Whose parts are sharded; one of the second's values is not finite, on one rank alone."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.part = nn.Linear(4, 4), rare.Within(rare.Outer())

    def forward(self, given: torch.Tensor, rare: bool = False) -> torch.Tensor:
        return self.part(self.first(given), rare)


def _of_tensors(_: nn.Module) -> nn.Module:
    return _Tensors()


def _fully_sharded(model: nn.Module) -> nn.Module:
    mesh = init_device_mesh("cpu", (2,))
    for part in (model.part.part.first, model.part.part.last, model):  # type: ignore[union-attr]
        fully_shard(part, mesh=mesh)  # type: ignore[arg-type]
    return model


def _of_fsdp(model: nn.Module) -> nn.Module:
    for name in ("first", "last"):
        outer = model.part.part  # type: ignore[union-attr]
        setattr(outer, name, FullyShardedDataParallel(getattr(outer, name), device_id=torch.device("cpu")))
    return model


@pytest.mark.parametrize("wrap", [_of_tensors, _fully_sharded, _of_fsdp], ids=["DTensor", "fully_shard", "FullyShardedDataParallel"])
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_rank_keeps_the_op_alone(level: str, wrap: Callable[[nn.Module], nn.Module], tmp_path: Path) -> None:
    if wrap is _fully_sharded and torch.__version__ < "2.5":
        pytest.skip(f"fully_shard of PyTorch {torch.__version__} makes streams of CUDA")

    def work(rank: int, own: Path) -> None:
        os.environ["RANK"] = str(rank)
        torch.manual_seed(3)
        model = wrap(_Two())
        with tensortap.tap(model, run="r", spool=own / "spool", level=level, on_nan="keep", payload_folder=own / "kept") as tap:
            for step in range(3):
                model(torch.randn(2, 4), step == 1 and rank == 1).nan_to_num().sum().backward()
                tap.step()

    on_ranks(2, tmp_path, work)
    steps = [step for step in reading.only(tmp_path / "rank1" / "spool").steps if step.failures]
    assert [step.number for step in steps] == [1]
    assert len(list((tmp_path / "rank1" / "kept").rglob("repeat.py"))) == 1
    if level == "L0" and wrap is not _of_tensors:
        assert "it holds what is sharded over ranks" in steps[0].failures[0][2]
