"""How a program shows its bits, so that two runs of it are compared."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

Program = Callable[[], None]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """The function is one of the programs, under its name in words."""
    PROGRAMS[function.__name__.replace("_", " ").strip()] = function
    return function


def bits(value: Any) -> str:
    """A checksum of a tensor's bits, or of what is in a container of such."""
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(map(bits, value)) + "]"
    if isinstance(value, dict):
        return "{" + " ".join(f"{key}={bits(part)}" for key, part in value.items()) + "}"
    if not isinstance(value, Tensor):
        return repr(value)
    dense = value.detach()
    if dense.is_quantized:
        dense = dense.int_repr()
    if dense.layout != torch.strided:
        dense = dense.to_dense()
    data = dense.resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8).tolist()
    return f"{value.dtype}{[*value.shape]}:{hashlib.sha256(bytes(data)).hexdigest()[:16]}"


def show(name: str, *values: Any) -> None:
    """Print the bits of values."""
    print(name, *map(bits, values))


def show_state(model: nn.Module) -> None:
    """Print the bits of a model's parameters, gradients and buffers."""
    for name, parameter in model.named_parameters():
        show(name, parameter, parameter.grad)
    for name, buffer in model.named_buffers():
        show(name, buffer)


def train(model: nn.Module, batches: Iterable[Any], optimizer: torch.optim.Optimizer | None = None) -> None:
    """Train on batches, which are the model's arguments, and show what came of it."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for batch in batches:
        optimizer.zero_grad()
        loss = model(*batch if isinstance(batch, tuple) else (batch,)).float().square().mean()
        loss.backward()
        optimizer.step()
        show("loss", loss)
    show_state(model)


def show_generators() -> None:
    """Print the states of the generators of random numbers."""
    show("torch's generator", torch.get_rng_state())
    print("python's generator", hashlib.sha256(repr(random.getstate()).encode()).hexdigest()[:16])


class MLP(nn.Module):
    """Small, with dropout and a norm."""

    def __init__(self, width: int = 8, p: float = 0.1) -> None:
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Linear(width, 16), nn.LayerNorm(16), nn.Dropout(p), nn.Linear(16, width)

    def forward(self, x: Tensor) -> Tensor:
        """Both layers."""
        return self.last(self.drop(torch.relu(self.norm(self.first(x)))))


def batches(*shape: int, count: int = 3) -> list[Tensor]:
    """Batches of that shape."""
    return [torch.randn(*shape) for _ in range(count)]
