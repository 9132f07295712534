"""One small model, written twice with the same weights: what the recordings beside this file were made of.

    for kind in separate fused swapped; do
        tensortap run --data /tmp/twice --run $kind --level mix -- python twice.py $kind
        tensortap export msprobe --data /tmp/twice --run $kind /tmp/dumps/$kind
    done
    find /tmp/dumps -name stack.json -delete  # they name folders of the machine
    tar -C /tmp/dumps --sort=name --owner=0 --group=0 --mtime=@0 -cf - separate fused swapped | gzip -9n > twice.tar.gz

separate has q_proj, k_proj, v_proj, gate_proj and up_proj, and attention step by step; fused has qkv_proj and
gate_up_proj, PyTorch's own attention, and other names of all modules; swapped is fused with k and v swapped in layer 1.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, GROUPS, INNER, LAYERS, WORDS = 32, 4, 2, 48, 3, 50
HEAD = WIDTH // HEADS
SHARED = GROUPS * HEAD


class SeparateAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, WIDTH)
        self.k_proj = nn.Linear(WIDTH, SHARED)
        self.v_proj = nn.Linear(WIDTH, SHARED)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        batch, length, _ = hidden.shape
        query = self.q_proj(hidden).view(batch, length, HEADS, HEAD).transpose(1, 2)
        key = self.k_proj(hidden).view(batch, length, GROUPS, HEAD).transpose(1, 2)
        value = self.v_proj(hidden).view(batch, length, GROUPS, HEAD).transpose(1, 2)
        key, value = (x.repeat_interleave(HEADS // GROUPS, dim=1) for x in (key, value))
        scores = query @ key.transpose(2, 3) / HEAD**0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
        return self.o_proj((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH))


class SeparateFeed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, INNER, bias=False)
        self.up_proj = nn.Linear(WIDTH, INNER, bias=False)
        self.down_proj = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))


class SeparateLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm = nn.LayerNorm(WIDTH)
        self.self_attn = SeparateAttention()
        self.post_attention_layernorm = nn.LayerNorm(WIDTH)
        self.mlp = SeparateFeed()

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.self_attn(self.input_layernorm(hidden))
        return hidden + self.mlp(self.post_attention_layernorm(hidden))


class Separate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(SeparateLayer() for _ in range(LAYERS))
        self.lm_head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        hidden = self.embed_tokens(words)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.lm_head(hidden)


class FusedAttention(nn.Module):
    def __init__(self, from_: SeparateAttention) -> None:
        super().__init__()
        self.qkv_proj = joined(from_.q_proj, from_.k_proj, from_.v_proj)
        self.out = from_.o_proj

    def forward(self, hidden: Tensor) -> Tensor:
        batch, length, _ = hidden.shape
        parts = self.qkv_proj(hidden).split([WIDTH, SHARED, SHARED], dim=-1)
        query, key, value = (x.unflatten(-1, (-1, HEAD)).transpose(1, 2) for x in parts)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return self.out(seen.transpose(1, 2).flatten(2))


class FusedFeed(nn.Module):
    def __init__(self, from_: SeparateFeed) -> None:
        super().__init__()
        self.gate_up_proj = joined(from_.gate_proj, from_.up_proj)
        self.down = from_.down_proj

    def forward(self, hidden: Tensor) -> Tensor:
        gate, up = self.gate_up_proj(hidden).chunk(2, dim=-1)
        return self.down(functional.silu(gate) * up)


class FusedBlock(nn.Module):
    def __init__(self, from_: SeparateLayer) -> None:
        super().__init__()
        self.norm_1 = from_.input_layernorm
        self.attention = FusedAttention(from_.self_attn)
        self.norm_2 = from_.post_attention_layernorm
        self.feed = FusedFeed(from_.mlp)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.attention(self.norm_1(hidden))
        return hidden + self.feed(self.norm_2(hidden))


class Fused(nn.Module):
    def __init__(self, from_: Separate) -> None:
        super().__init__()
        self.embed = from_.embed_tokens
        self.blocks = nn.ModuleList(FusedBlock(layer) for layer in from_.layers)
        self.head = from_.lm_head

    def forward(self, words: Tensor) -> Tensor:
        hidden = self.embed(words)
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(hidden)


def joined(*parts: nn.Linear) -> nn.Linear:
    """One layer that does what the parts do, its outputs one behind the other."""
    rows = sum(part.out_features for part in parts)
    whole = nn.Linear(WIDTH, rows, bias=parts[0].bias is not None)
    with torch.no_grad():
        whole.weight.copy_(torch.cat([part.weight for part in parts]))
        if whole.bias is not None:
            whole.bias.copy_(torch.cat([part.bias for part in parts]))
    return whole


def swap(layer: nn.Linear) -> None:
    """Put the rows of v in place of those of k, and the other way round."""
    order = torch.cat([torch.arange(WIDTH), torch.arange(WIDTH + SHARED, WIDTH + 2 * SHARED), torch.arange(WIDTH, WIDTH + SHARED)])
    with torch.no_grad():
        layer.weight.copy_(layer.weight[order].clone())
        layer.bias.copy_(layer.bias[order].clone())


def main(kind: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(7)
    model: nn.Module = Separate()
    for layer in model.layers:  # biases that begin at 0 would all look the same
        nn.init.normal_(layer.input_layernorm.bias, std=0.1)
    if kind != "separate":
        model = Fused(model)
    if kind == "swapped":
        swap(model.blocks[1].attention.qkv_proj)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    words = torch.randint(WORDS, (3, 2, 17), generator=torch.Generator().manual_seed(1))
    for batch in words:
        optimizer.zero_grad()
        logits = model(batch[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()).backward()
        optimizer.step()


if __name__ == "__main__":
    main(sys.argv[1])
