"""What the collector costs an engine's step: a model that calls its modules as vLLM's Llama does, four requests that decode.

    python bench/decoding.py    times pairs of steps, TENSORTAP_BENCH_PAIRS of them, and prints the table
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from pairs import Pairs, compared
from torch import Tensor, nn

import tensortap

PAIRS = int(os.environ.get("TENSORTAP_BENCH_PAIRS", "300"))
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, INNER, WORDS, REQUESTS = 8, 512, 8, 4, 64, 1376, 1000, 4

HEAD_TEXT = """
## Decode steps

A model that calls its modules as vLLM's Llama does, 8 layers of 512 in bfloat16 on one thread under `torch.inference_mode`, {requests} rows a step: {calls} calls of modules with {tensors} tensors.
Two such models take turns, one with a tap and one without; median of {pairs} pairs. No agent runs beside them. `µs a tensor` is the processor's time that a step takes longer, over its tensors.

| recorded | ms a step | step | CPU | µs a tensor |
|---|---|---|---|---|
"""


class Linear(nn.Module):
    """A layer that packs its weight away, and returns a bias that is none."""

    def __init__(self, given: int, made: int) -> None:
        super().__init__()
        self.packed = torch.randn(given, made, dtype=torch.bfloat16) / given**0.5

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        return x @ self.packed, None


class Norm(nn.Module):
    """Adds to the residual, where one is given, and normalises."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN, dtype=torch.bfloat16))

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        if residual is None:
            return nn.functional.rms_norm(x, (HIDDEN,), self.weight)
        residual = residual + x
        return nn.functional.rms_norm(residual, (HIDDEN,), self.weight), residual


class Rotary(nn.Module):
    """Turns queries and keys."""

    def forward(self, positions: Tensor, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        turned = torch.cos(positions.to(q.dtype)).unsqueeze(1)
        return q * turned, k * turned


class Attention(nn.Module):
    """Stands for that over a cache."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return q * torch.softmax(k.float(), -1).bfloat16().repeat(1, HEADS // KV_HEADS) + v.repeat(1, HEADS // KV_HEADS)


class SelfAttention(nn.Module):
    """As vLLM's."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv_proj = Linear(HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD)
        self.rotary_emb, self.attn, self.o_proj = Rotary(), Attention(), Linear(HEADS * HEAD, HIDDEN)

    def forward(self, positions: Tensor, hidden_states: Tensor) -> Tensor:
        qkv, _ = self.qkv_proj(hidden_states)
        q, k, v = qkv.split([HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD], dim=-1)
        q, k = self.rotary_emb(positions, q, k)
        made: Tensor = self.o_proj(self.attn(q, k, v))[0]
        return made


class Activation(nn.Module):
    """As vLLM's."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.silu(x[..., :INNER]) * x[..., INNER:]


class Inner(nn.Module):
    """As vLLM's."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_up_proj, self.act_fn, self.down_proj = Linear(HIDDEN, 2 * INNER), Activation(), Linear(INNER, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.down_proj(self.act_fn(self.gate_up_proj(x)[0]))[0]
        return made


class Layer(nn.Module):
    """As vLLM's."""

    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(), SelfAttention()
        self.post_attention_layernorm, self.mlp = Norm(), Inner()

    def forward(self, positions: Tensor, hidden_states: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        if residual is None:
            residual, hidden_states = hidden_states, self.input_layernorm(hidden_states)
        else:
            hidden_states, residual = self.input_layernorm(hidden_states, residual)
        hidden_states = self.self_attn(positions=positions, hidden_states=hidden_states)
        hidden_states, residual = self.post_attention_layernorm(hidden_states, residual)
        return self.mlp(hidden_states), residual


class Served(nn.Module):
    """As vLLM's, without the last matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(WORDS, HIDDEN, dtype=torch.bfloat16)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = Norm()

    def forward(self, input_ids: Tensor, positions: Tensor) -> Tensor:
        hidden_states, residual = self.embed_tokens(input_ids), None
        for layer in self.layers:
            hidden_states, residual = layer(positions, hidden_states, residual)
        made: Tensor = self.norm(hidden_states, residual)[0]
        return made


class Decoding:
    """The model with a batch."""

    def __init__(self) -> None:
        torch.manual_seed(1234)
        self.model = Served().eval()
        self._ids, self._positions = torch.randint(0, WORDS, (REQUESTS,)), torch.arange(REQUESTS) + 40

    @torch.inference_mode()
    def step(self) -> None:
        """One token of each request."""
        self.model(input_ids=self._ids, positions=self._positions)


def section() -> Iterator[str]:
    """The section, a piece at a time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    tapped, plain = Decoding(), Decoding()
    calls, tensors, recorded = _beside(tapped, plain, level="L0")
    yield HEAD_TEXT.format(requests=REQUESTS, calls=calls, tensors=tensors, pairs=PAIRS)
    yield _row("armed", _beside(tapped, plain, level="L0", steps=[1_000_000])[2], 0)
    yield _row("L0", recorded, tensors)
    torch.set_num_threads(before)


def _beside(tapped: Decoding, plain: Decoding, **settings: Any) -> tuple[int, int, Pairs]:
    """Calls and tensors of a step, and steps of a model with a tap beside those of another without."""
    with tempfile.TemporaryDirectory() as folder:
        with tensortap.tap(tapped.model, run="bench", spool=Path(folder), **settings) as tap:

            def step() -> None:
                tapped.step()
                tap.step()

            step()
            assert tap._steps.process
            recorder = tap._steps.process.recorder
            counts = recorder.ops, recorder.spool.tensors
            return *counts, compared(step, plain.step, PAIRS)


def _row(mode: str, pairs: Pairs, tensors: int) -> str:
    each = f"{1e6 * pairs.added(1) / tensors:.1f}" if tensors else ""
    return f"| {mode} | {pairs.milliseconds():.1f} | {pairs.ratio():.2f} | {pairs.ratio(1):.2f} | {each} |\n"


if __name__ == "__main__":
    for piece in section():
        sys.stdout.write(piece)
        sys.stdout.flush()
