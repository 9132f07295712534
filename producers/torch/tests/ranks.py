"""Work in children of their own: ranks of a job, by gloo."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import torch.distributed as dist

Work = Callable[[int, Path], None]


def on_ranks(count: int, root: Path, work: Work) -> None:
    """Run the work in so many children, as ranks of a job."""

    def joined(rank: int, own: Path) -> None:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        dist.init_process_group("gloo", init_method=f"file://{root}/store", rank=rank, world_size=count)
        work(rank, own)
        dist.destroy_process_group()

    in_children(count, root, joined)


def in_children(count: int, root: Path, work: Work) -> None:
    """Run the work in so many children; each must end well."""
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            try:
                work(number, root / f"rank{number}")
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * count
