"""A loop of reinforcement learning, as small as can be: a trainer, and a rollout with its own decode loop and cache of keys and values.

Arguments are faults, for each a run of rollout and one of trainer: right, unsynchronised, positions, temperature, router, adapter, stale,
template, top-k.
"""

import copy
import sys

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

import tensortap

WORDS, WIDTH, HEADS, EXPERTS = 24, 16, 2, 4
STEPS, PROMPTS, PROMPT, ANSWER, SAMPLES = 4, 4, 6, 8, 2
UNSYNCHRONISED, COOL, KEPT = 2, 0.7, 12  # an update that does not reach the rollout; a temperature; words that top-k leaves


class Attention(nn.Module):
    """Causal, with rotary positions."""

    def __init__(self) -> None:
        super().__init__()
        self.joined, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, at: Tensor, cache: list[Tensor] | None) -> Tensor:
        """Those after the cache, which they are added to."""
        q, k, v = (part.unflatten(-1, (HEADS, -1)) for part in self.joined(x).chunk(3, -1))
        q, k = rotated(q, at), rotated(k, at)
        if cache is not None:
            k, v = (torch.cat(pair, 1) for pair in zip(cache, (k, v), strict=True)) if cache else (k, v)
            cache[:] = k, v
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * 0.7
        later = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).triu(k.shape[1] - q.shape[1] + 1)
        return self.out(torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(later, -torch.inf).softmax(-1), v).flatten(2))


def rotated(x: Tensor, at: Tensor) -> Tensor:
    """By the positions."""
    half = x.shape[-1] // 2
    angle = (at[:, None] * 0.5 ** torch.arange(half))[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1)


class Router(nn.Linear):
    """How much of each expert, in a precision of its own."""

    precision = torch.float32

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        return nn.functional.linear(x.to(self.precision), self.weight.to(self.precision), self.bias.to(self.precision))


class Block(nn.Module):
    """Attention, and a mixture of experts."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.attention, self.router = nn.LayerNorm(WIDTH), Attention(), Router(WIDTH, EXPERTS)
        self.experts = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH) * 0.3)

    def forward(self, x: Tensor, at: Tensor, cache: list[Tensor] | None) -> Tensor:
        """Add what both say."""
        x = x + self.attention(self.norm(x), at, cache)
        shares, chosen = self.router(x).float().softmax(-1).topk(2, -1)
        return x + torch.einsum("btc,btcwv,btw->btv", shares, self.experts[chosen], x).tanh()


class Adapted(nn.Module):
    """A layer that does not learn, and an adapter of low rank that does, by the names that PEFT gives them."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.base_layer = layer.requires_grad_(False)
        self.lora_A, self.lora_B = nn.Linear(WIDTH, 2, bias=False), nn.Linear(2, WIDTH, bias=False)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Both together."""
        return self.base_layer(x) + self.lora_B(self.lora_A(x))


class Policy(nn.Module):
    """A model of a language of few words."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, ids: Tensor, first: int = 0, caches: list[list[Tensor]] | None = None) -> Tensor:
        """Logits at each token; the first of them has that position."""
        x, at = self.embedding(ids), torch.arange(first, first + ids.shape[1])
        for number, block in enumerate(self.blocks):
            x = block(x, at, caches[number] if caches else None)
        return self.head(x)


@torch.no_grad()
def generate(policy: Policy, prompts: Tensor, fault: str, prefix: list[list[Tensor]] | None) -> tuple[Tensor, Tensor, list[list[Tensor]]]:
    """Answers and their log-probabilities. The prefix: keys and values of the prompts, without their last tokens, of earlier answers."""
    at = prompts.shape[1] - 1 + (prefix is not None and fault == "positions")
    if prefix is None:
        prefix = [[] for _ in policy.blocks]
        policy(prompts[:, :-1], 0, prefix)
    caches = copy.deepcopy(prefix)
    last, ids, logs = prompts[:, -1:], [], []
    for _ in range(ANSWER):
        logits = policy(last, at, caches)[:, -1] / (COOL if fault == "temperature" else 1.0)
        if fault == "top-k":
            logits = logits.masked_fill(logits < logits.topk(KEPT).values[:, -1:], -torch.inf)
        said = log_softmax(logits, -1)
        last, at = torch.multinomial(said.exp(), 1), at + 1
        ids.append(last)
        logs.append(said.gather(1, last))
    return torch.cat(ids, 1), torch.cat(logs, 1), prefix


def sampled(policy: Policy, rollout: tensortap.Session, step: int, fault: str, kept: list[list[list[Tensor]]]) -> list[tuple[Tensor, Tensor]]:
    """Prompts with answers. All but the first answers of a prompt begin with what is left of the first, or of an earlier update."""
    prompts, taken = torch.randint(WORDS, (PROMPTS, PROMPT), generator=torch.Generator().manual_seed(0 if kept else step)), []
    templated = torch.cat((torch.zeros_like(prompts[:, :1]), prompts), 1) if fault == "template" else prompts
    prefix = kept[0] if kept else None
    rollout.start()
    for sample in range(SAMPLES):
        cached = templated.shape[1] - 1 if prefix else 0
        ids, logs, prefix = generate(policy, templated, fault, prefix)
        taken.append((prompts, ids))
        for one in range(PROMPTS):
            told = {"prompt": templated[one], "sample": sample, "positions": templated.shape[1], "ids": ids[one], "logprobs": logs[one]}
            rollout.tokens(**told, global_step=step, cached=cached, phase="decode")
    rollout.step()
    if fault == "stale" and prefix:
        kept[:] = [prefix]
    return taken


def train(policy: Policy, optimizer: torch.optim.Optimizer, trainer: tensortap.Session, step: int, taken: list[tuple[Tensor, Tensor]]) -> None:
    """One update, by the log-probabilities of what was sampled and a reward for words of even numbers."""
    trainer.start()
    loss = torch.zeros(())
    for sample, (prompts, ids) in enumerate(taken):
        logs = log_softmax(policy(torch.cat((prompts, ids), 1)), -1)[:, PROMPT - 1 : -1].gather(2, ids[..., None])[..., 0]
        for one in range(PROMPTS):
            told = {"prompt": prompts[one], "sample": sample, "positions": PROMPT, "ids": ids[one], "logprobs": logs[one]}
            trainer.tokens(**told, global_step=step, phase="train")
        loss = loss - (((ids % 2 == 0).float() - 0.5) * logs).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    trainer.step()


def loop(fault: str) -> None:
    """Sample, and train on it, as often as there are steps."""
    torch.manual_seed(1)
    policy = Policy()
    sampler = copy.deepcopy(policy)
    if fault == "adapter":
        for block in policy.requires_grad_(False).blocks:
            block.attention.out = Adapted(block.attention.out)
    if fault == "router":
        for block in sampler.blocks:
            block.router.precision = torch.bfloat16
    optimizer = torch.optim.SGD([one for one in policy.parameters() if one.requires_grad], lr=0.5)
    kept: list[list[list[Tensor]]] = []  # keys and values of prompts that outlive an update
    recorded = {"level": "L0", "scope": ["blocks.*.router"]}
    with tensortap.tap(sampler, run=f"rollout-{fault}", labels={"loop": fault}, **recorded) as rollout, tensortap.tap(policy, run=f"trainer-{fault}", **recorded) as trainer:
        for step in range(STEPS):
            if not (fault == "unsynchronised" and step == UNSYNCHRONISED):
                sampler.load_state_dict({name.replace(".base_layer.", "."): one for name, one in policy.state_dict().items() if ".lora_" not in name})
            trainer.weights(step)
            rollout.weights(step)
            train(policy, optimizer, trainer, step, sampled(sampler, rollout, step, fault, kept))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for fault in sys.argv[1:]:
        loop(fault)
