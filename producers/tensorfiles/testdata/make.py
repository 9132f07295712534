"""Writes the saved tensors beside it, as users and engines write them: python make.py saved."""

import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

to = Path(sys.argv[1])


def folder(name: str) -> Path:
    (to / name).mkdir(parents=True, exist_ok=True)
    return to / name


for step in (0, 1, 10):
    torch.save(torch.full((2, 3), float(step)), to / f"forward_input_{step}.pt")
torch.save({"hidden": torch.tensor([1.0, float("nan"), float("inf")]), "scale": 0.5, "note": "first NaN", "seen": [torch.ones(2), None]}, to / "nan_debug.pt")
save_file({"b": torch.zeros(4, dtype=torch.bfloat16), "a": torch.arange(3)}, str(to / "two_step7.safetensors"))
np.save(to / "logits_rank1_step7.npy", np.arange(6, dtype=np.float64).reshape(2, 3))
hook = folder("TP1_PP0_Rank1_pid77")
torch.save(OrderedDict({"model.layers.0.mlp": torch.ones(2, 2), "model.layers.1.attn": [torch.ones(1), torch.zeros(1)], "m.forward_batch_info.input_ids": torch.arange(5)}), hook / "Pass00007.pt")
torch.save({"high_precision": torch.tensor([1.5]), "quantized": torch.tensor([1.5]).to(torch.float8_e4m3fn)}, folder("rank_0/iter_000100") / "layer.0.qkv_weight.pt")
torch.save(torch.nn.Linear(3, 2).state_dict(), to / "state.pth")
