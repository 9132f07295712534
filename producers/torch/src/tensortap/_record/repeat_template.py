"""Repeats the one op whose values were not finite, alone: python repeat.py. Needs torch, and what the op's own code imports.

about.json beside it says which op that was, when, and what it was given; tensors are in the format of safetensors. Ends with
status 0 when a value is not finite again, 1 when all are finite, 2 when the op cannot be repeated.
"""

from __future__ import annotations

import ast
import json
import math
import struct
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32", "U64": "uint64", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64",
}  # fmt: skip


class LostError(Exception):
    """Something that the op needs was not kept."""


def read(path: Path) -> torch.Tensor:
    """The tensor of a file."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    about = json.loads(content[8 : 8 + length])["tensor"]
    dtype = getattr(torch, DTYPES[about["dtype"]])
    if not math.prod(about["shape"]):
        return torch.empty(about["shape"], dtype=dtype)
    return torch.frombuffer(bytearray(content[8 + length :]), dtype=torch.uint8).view(dtype).reshape(about["shape"])


class Kept:
    """What is beside this file."""

    def __init__(self) -> None:
        self.about = json.loads((HERE / "about.json").read_text())
        self.objects: list[Any] = []
        self.leaves: dict[str, torch.Tensor] = {}  # by place
        self.given: dict[str, torch.Tensor] = {}

    def tensor(self, node: dict[str, Any]) -> torch.Tensor:
        """A tensor, no leaf, as it may be written into; one that was given twice is one."""
        name = node["tensor"]
        if name not in self.given:
            found = read(HERE / name)
            stride = node.get("stride", list(found.stride()))
            if list(found.stride()) != stride and 0 not in stride:
                found = torch.empty_strided(found.shape, stride, dtype=found.dtype).copy_(found)
            self.given[name] = self.leaves[node.get("place", name)] = found
            if node.get("requires_grad") and self.about["with_gradients"]:
                self.given[name] = found.requires_grad_().clone()
        return self.given[name]

    def value(self, node: dict[str, Any]) -> Any:
        """An argument."""
        ((kind, held), *_) = node.items()
        if kind == "lost":
            raise LostError(held)
        if kind == "tensor":
            return self.tensor(node)
        if kind in ("list", "tuple"):
            values = [self.value(one) for one in held]
            return tuple(values) if kind == "tuple" else values
        if kind == "dict":
            return {self.value(name): self.value(one) for name, one in held}
        makers = {"torch": lambda name: getattr(torch, name), "device": lambda _: torch.device("cpu"), "float": float, "object": self.object}
        return makers.get(kind, lambda value: value)(held)

    def object(self, number: int) -> Any:
        """An argument that is no plain value."""
        if not self.about["objects"]:
            raise LostError("an argument that cannot be pickled")
        self.objects = self.objects or load(HERE / self.about["objects"])
        return self.objects[number]

    def op(self) -> Any:
        """The module, or the API by its full name."""
        if self.about["module"]:
            return load(HERE / self.about["module"])
        if not self.about["api"]:
            raise LostError("the op itself")
        found: Any = torch
        for part in self.about["api"].split(".")[1:]:
            found = getattr(found, part)
        return found


def load(path: Path) -> Any:
    """What was pickled."""
    return torch.load(path, map_location="cpu", weights_only=False)


def define(path: Path) -> None:
    """The classes and functions of the program, whose other statements are not run but for constants."""
    space = sys.modules["__main__"].__dict__
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and not _is_constant(node.value):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign):
            try:
                exec(compile(ast.Module([node], []), str(path), "exec"), space)
            except Exception as error:  # the program's own, of which the op may need nothing
                print(f"of the program, line {node.lineno} is left out: {error}")


def _is_constant(node: ast.expr | None) -> bool:
    try:
        ast.literal_eval(node)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return False
    return True


def leaves(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a result."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(f"{name}.{key}", one)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from leaves(f"{name}.{at}", one)


def run(kept: Kept) -> Iterator[tuple[str, torch.Tensor]]:
    """Run the op, and its backward where gradients were not finite."""
    about = kept.about
    op, args, kwargs = kept.op(), [kept.value(node) for node in about["args"]], {name: kept.value(node) for name, node in about["kwargs"].items()}
    inputs = dict(kept.leaves)
    if "cpu" in about["random"]:
        torch.set_rng_state(kept.value(about["random"]["cpu"]).to(torch.uint8))
    with ExitStack() as around:
        for device, dtype in about["autocast"].items():
            around.enter_context(torch.autocast("cpu" if device == "cuda" else device, getattr(torch, dtype.removeprefix("torch."))))
        around.enter_context(torch.set_grad_enabled(about["with_gradients"]))
        result = op(*args, **kwargs)
    outputs = dict(pair for at, value in enumerate(result if type(result) is tuple else (result,)) for pair in leaves(str(at), value))
    yield from ((f"output {name}", tensor) for name, tensor in outputs.items())
    first = next(iter(outputs), "")
    wanted = {name or first: kept.value(node) for name, node in about["gradients"].items() if outputs[name or first].requires_grad}
    if wanted:
        torch.autograd.backward([outputs[name] for name in wanted], list(wanted.values()))
        yield from ((f"gradient of {name}", tensor.grad) for name, tensor in inputs.items() if tensor.grad is not None)
        if about["module"]:
            yield from ((f"gradient of {name}", weight.grad) for name, weight in op.named_parameters() if weight.grad is not None)


def told(name: str, tensor: torch.Tensor) -> str:
    """What of a tensor is NaN or +Inf, and where; empty where all is finite."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return ""
    wide = tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64)
    bad = ~torch.isfinite(wide) & ~(torch.isneginf(wide.real) if not wide.is_complex() else torch.zeros_like(wide, dtype=torch.bool))
    if not bad.any():
        return ""
    first = bad.nonzero()[0].tolist()
    return f"{name}: {int(bad.sum())} of {tensor.numel()} elements are not finite, the first at {first}: {tensor[tuple(first)].item()}"


def main() -> int:
    """Say what comes."""
    kept = Kept()
    print(kept.about["sentence"])
    for lost in kept.about["lost"]:
        print(f"not kept: {lost}")
    sys.path += [path for path in kept.about["program"]["path"] if path not in sys.path]
    if kept.about["program"]["main"]:
        define(HERE / kept.about["program"]["main"])
    try:
        lines = [line for name, tensor in run(kept) if (line := told(name, tensor))]
    except LostError as error:
        print(f"the op cannot be repeated: {error}")
        return 2
    except Exception as error:  # of the op, which misses what is left out, or fails by itself
        if not kept.about["left_out"]:
            raise
        print(f"the op cannot be repeated without {', '.join(kept.about['left_out'])}, which cannot be pickled: {type(error).__name__}: {error}")
        return 2
    print("\n".join(f"again: {line}" for line in lines) or f"all is finite: {kept.about['op']} alone does not make it again")
    return 0 if lines else 1


if __name__ == "__main__":
    sys.exit(main())
