"""Writes an event file as training programs do: python make.py FOLDER (tested with tensorboard 2.21)."""

import sys

import torch
from torch.utils.tensorboard import SummaryWriter

with SummaryWriter(sys.argv[1], filename_suffix=".rank2") as writer:
    for step in range(5):
        writer.add_scalar("train/loss", 1 / (1 + step), step, walltime=1_760_000_000.5 + step)
    writer.add_scalar("train/loss", float("nan"), 5, walltime=1_760_000_005.5)
    writer.add_scalar("lr", 3e-4, 5, new_style=True, double_precision=True, walltime=1_760_000_005.5)
    writer.add_scalar("損失 🙂", float("inf"), 4_294_967_295, walltime=1_760_000_006.5)
    writer.add_histogram("weights", torch.arange(10.0), 5)
    writer.add_text("note", "no number", 5)
