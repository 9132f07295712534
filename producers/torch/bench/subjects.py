"""The models whose steps are timed: Llamas like those on which msProbe was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model with a batch and an optimizer."""

    model: nn.Module
    tokens: Tensor
    optimizer: torch.optim.Optimizer

    def train(self) -> None:
        """One training step."""
        self.optimizer.zero_grad()
        self.model(input_ids=self.tokens, labels=self.tokens).loss.backward()
        self.optimizer.step()

    def forward(self) -> None:
        """One forward pass without gradients."""
        with torch.no_grad():
            self.model(input_ids=self.tokens)


def llama(hidden: int, layers: int, heads: int, inner: int, length: int) -> Subject:
    """A Llama of that size with a batch of two."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1234)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=1000,
            hidden_size=hidden,
            intermediate_size=inner,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=heads // 2,
            use_cache=False,
        )
    )
    return Subject(
        model=model,
        tokens=torch.randint(0, 1000, (2, length)),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
    )


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "tiny": lambda: llama(256, 4, 4, 688, 128),
    "medium": lambda: llama(1024, 8, 8, 2752, 256),
}
