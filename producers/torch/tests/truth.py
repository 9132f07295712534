"""Trains a model for two steps under msProbe or under the collector, whose class and config.json are the same.

    python truth.py msprobe.pytorch|tensortap llama|resnet18|ddp L0|L1|mix FOLDER

Models, seeds and data are those of the other tests; `ddp` is two ranks of a small model. FOLDER is msProbe's dump_path.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tests import models

STEPS = 2


def llama() -> tuple[nn.Module, Callable[[], Tensor]]:
    """Tiny Llama and its loss."""
    model, batch = models.tiny_llama()
    return model, lambda: model(**batch).loss


def resnet18() -> tuple[nn.Module, Callable[[], Tensor]]:
    """ResNet18 and its loss."""
    model, images = models.resnet18()
    return model, lambda: nn.functional.cross_entropy(model(images), torch.tensor([1, 2]))


def ddp() -> tuple[nn.Module, Callable[[], Tensor]]:
    """A small model of several ranks, each with data of its own."""
    torch.manual_seed(1234)
    model = DistributedDataParallel(models.Small())
    given = torch.randn(4, 16, generator=torch.Generator().manual_seed(dist.get_rank()))
    return model, lambda: model(given).square().mean()


def train(package: str, name: str, level: str, folder: str) -> None:
    """Train under the debugger of the package."""
    torch.set_num_threads(1)
    made = {"llama": llama, "resnet18": resnet18, "ddp": ddp}[name]
    model, loss_of = made()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    debugger = importlib.import_module(package).PrecisionDebugger(config_path=f"{folder}.json")
    for _ in range(STEPS):
        debugger.start(model=model)
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()
        debugger.stop()
        debugger.step()


def as_rank(rank: int, package: str, name: str, level: str, folder: str) -> None:
    """Be one of two ranks."""
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", init_method=f"file://{folder}.store", rank=rank, world_size=2)
    train(package, name, level, folder)
    dist.destroy_process_group()


def main(package: str, name: str, level: str, folder: str) -> None:
    """Write the configuration and train."""
    config = {"task": "statistics", "dump_path": folder, "level": level, "risk_level": "ALL", "statistics": {"data_mode": ["all"]}}
    Path(f"{folder}.json").write_text(json.dumps(config))
    if name == "ddp":
        torch.multiprocessing.spawn(as_rank, (package, name, level, folder), nprocs=2)
    else:
        train(package, name, level, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
