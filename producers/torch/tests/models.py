"""Models that tests record, of fixed seeds."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def tiny_llama() -> tuple[nn.Module, dict[str, Tensor]]:
    """The Llama of the fixtures, and a batch for it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1234)
    config = LlamaConfig(
        vocab_size=1000,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        use_cache=False,
    )
    tokens = torch.randint(0, 1000, (2, 128), generator=torch.Generator().manual_seed(0))
    return LlamaForCausalLM(config), {"input_ids": tokens, "labels": tokens}


def resnet18() -> tuple[nn.Module, Tensor]:
    """The ResNet of the fixtures, with ReLU in place, and a batch for it."""
    from torchvision.models import resnet18 as make

    torch.manual_seed(1234)
    return make(weights=None, num_classes=10), torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))


class Block(nn.Module):
    """Norm, two linear layers and an activation in place, with a residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.act = nn.ReLU(inplace=True)
        self.down = nn.Linear(2 * width, width)

    def forward(self, hidden: Tensor, scale: float = 1.0) -> Tensor:
        """One block."""
        return hidden + scale * self.down(self.act(self.up(self.norm(hidden))))


class Small(nn.Module):
    """Three blocks and a head, by checkpointing if asked."""

    def __init__(self, width: int = 16, checkpointed: bool = False) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(3))
        self.head = nn.Linear(width, 4)
        self.checkpointed = checkpointed

    def forward(self, hidden: Tensor) -> Tensor:
        """Logits."""
        for block in self.blocks:
            if self.checkpointed:
                hidden = checkpoint(block, hidden, use_reentrant=False)
            else:
                hidden = block(hidden, scale=0.5)
        return self.head(hidden)


def small(checkpointed: bool = False) -> tuple[Small, Tensor]:
    """A small model and a batch."""
    torch.manual_seed(7)
    return Small(checkpointed=checkpointed), torch.randn(8, 16)


def train(model: nn.Module, batch: Tensor, steps: int, optimizer: torch.optim.Optimizer | None = None) -> list[Tensor]:
    """Train, and return the losses."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
    return losses
