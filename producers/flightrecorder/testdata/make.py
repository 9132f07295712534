"""Writes the Flight Recorder files of this folder: three ranks of gloo, of which rank 2 leaves out the third all-reduce.

Run it with a PyTorch for CPU: python make.py FOLDER. Rank 0 and 1 wait in vain until their files are written.
"""

from __future__ import annotations

import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 3
WAIT_SECONDS = 5


def anonymous(trace: bytes) -> bytes:
    """The same bytes, but for the folders of this machine in the names of files."""
    for folder in (Path(torch.__file__).parents[1], Path(threading.__file__).parent, Path(__file__).parent):
        name = str(folder).encode()
        trace = trace.replace(name, b"/usr".ljust(len(name), b"/"))
    return trace


def dump(folder: Path, rank: int) -> None:
    """Write both forms."""
    recorder = torch._C._distributed_c10d
    (folder / "pickle").mkdir(exist_ok=True)
    (folder / "json").mkdir(exist_ok=True)
    (folder / "pickle" / f"gloo_trace_rank_{rank}").write_bytes(anonymous(recorder._dump_fr_trace()))
    (folder / "json" / f"gloo_trace_rank_{rank}.json").write_bytes(recorder._dump_fr_trace_json())


def train(rank: int, folder: Path) -> None:
    """Reduce, in all and in a group of two."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS, timeout=timedelta(seconds=2 * WAIT_SECONDS))
    pair = dist.new_group([0, 1], group_desc="tp")
    gradient = torch.ones(4, 8, dtype=torch.bfloat16)
    for step in range(3):
        if rank < 2:
            dist.all_reduce(torch.ones(2), group=pair)
        if step == 2:
            threading.Timer(WAIT_SECONDS / 2, dump, (folder, rank)).start()
        if rank == 2 and step == 2:
            break
        try:
            dist.all_reduce(gradient)
        except RuntimeError as error:
            print(f"rank {rank}: {error}")
    if rank == 2:
        time.sleep(WAIT_SECONDS)


if __name__ == "__main__":
    mp.spawn(train, (Path(sys.argv[1]).resolve(),), nprocs=RANKS)
