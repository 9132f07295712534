"""Makes statistics/*.pt, tensors of every kind, and statistics.tsv, what the collector says of them.

Run by hand in producers/torch, with the kernel built: PYTHONPATH=src:tests python ../../internal/payload/testdata/make_statistics.py
"""
import pathlib

import torch
from measuring import measure

from tensortap._stats.measure import Measurer

HERE = pathlib.Path(__file__).parent
MEASURER = Measurer(1, False, True)


def tensors():
    torch.manual_seed(5)
    odd = torch.tensor([float("nan"), float("inf"), float("inf"), float("-inf"), 0.0, -0.0, 1e-40, -3e-39])
    for name in ("float32", "float64", "float16", "bfloat16"):
        values = torch.randn(2500, dtype=torch.float64) * 3 + 40
        values[700:708] = odd
        yield name, values.to(getattr(torch, name))
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        yield name, (torch.randn(1100) * 0.01).to(getattr(torch, name))
    for name in ("uint8", "int8", "int16", "int32", "int64"):
        yield name, torch.randint(-100 if name[0] == "i" else 0, 100, (1030,)).to(getattr(torch, name))
    yield "bool", torch.arange(3000) % 3 == 0
    yield "complex64", torch.randn(1500, dtype=torch.complex64)
    yield "complex128", torch.tensor([complex("nan+infj"), 3 + 4j, 0, complex(0, float("-inf"))], dtype=torch.complex128)
    yield "strided", torch.randn(60, 50).t()
    yield "empty", torch.zeros(0, 4)
    yield "scalar", torch.tensor(-2.5)
    yield "not_finite", torch.full((5,), float("-inf"))
    yield "huge", torch.tensor([1e308, -1e308, 1e308, 5e-324], dtype=torch.float64)


def row(name, tensor):
    """Counts, extremes and digest are exact; moments are sums."""
    said = measure(MEASURER, tensor)
    least, greatest = said.exact
    return [name, *said.unusual, said.zero, said.flags & 1, least, greatest, said.mean, said.m2, said.l1, said.digest[0]]


with open(HERE / "statistics.tsv", "w") as table:
    for name, tensor in tensors():
        torch.save(tensor, HERE / "statistics" / f"{name}.pt")
        print(*row(name, tensor), sep="\t", file=table)
