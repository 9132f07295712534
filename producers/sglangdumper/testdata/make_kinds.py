"""Makes kinds/*.pt, values of every kind as SGLang's dumper saves them. Run by hand with torch: python make_kinds.py"""
import pathlib

import torch

HERE = pathlib.Path(__file__).parent / "kinds"
MEMBERS = {"tp_rank": 1, "tp_size": 2, "attn_dp_rank": 0, "attn_dp_size": 1, "enable_dp_attention": False}


def save(index, name, value, **meta):
    """With what the dumper knows of a value, or in old files without."""
    meta = {"step": 0, "rank": 1, "dump_index": index, "name": name, "world_size": 2, "sglang_parallel_info": MEMBERS, **meta}
    content = value if name == "bare" else {"value": value, "meta": meta}
    torch.save(content, HERE / f"step=0___rank=1___dump_index={index}___name={name}.pt")


HERE.mkdir(exist_ok=True)
save(1, "hidden", torch.arange(6.0).reshape(2, 3), dims="b s h[tp] # dp:=moe_dp")
save(2, "bare", torch.tensor([float("nan"), 2.0]))
save(3, "nested", {"parts": [torch.ones(2), (3, None, "x")], "flag": True, "scale": 0.5, 7: torch.bfloat16})
save(4, "empty", torch.zeros(0, 4, dtype=torch.int64))
