"""A small model reads three sequences: as one batch, or each alone, the prompt first and then token by token with a cache.

Arguments are runs: batch, cached, chunked (more of it first), shifted (positions off by one after the prompt), scaled (a weight of the second
layer), whole, alone. With rough- before the name, single tokens are computed in bfloat16.
"""

import sys

import torch
from rl_loop import PROMPT, WORDS, Policy
from torch import Tensor

import tensortap

LENGTH = 14


def read_batch(policy: Policy, ids: Tensor, tap: tensortap.Session) -> None:
    """All in one call."""
    tap.sequences(*({"prompt": row[:PROMPT], "tokens": LENGTH} for row in ids))
    policy(ids)


def read_cached(policy: Policy, ids: Tensor, tap: tensortap.Session, run: str) -> None:
    """One after the other, last first: some tokens at once, then each by itself."""
    first, shift = PROMPT + 4 * run.endswith("chunked"), int(run == "shifted")
    for row in ids.flip(0):
        prompt, caches = row[:PROMPT], [[] for _ in policy.blocks]
        tap.sequences({"prompt": prompt, "tokens": first})
        policy(row[None, :first], 0, caches)
        for position in range(first, LENGTH):
            tap.sequences({"prompt": prompt, "tokens": 1, "position": position})
            with torch.autocast("cpu", torch.bfloat16, enabled=run.startswith("rough")):
                policy(row[None, position : position + 1], position + shift, caches)


@torch.no_grad()
def record(run: str) -> None:
    """Everything in a run of that name."""
    torch.manual_seed(1)
    policy, ids = Policy(), torch.randint(WORDS, (3, LENGTH))
    if run.endswith("scaled"):
        policy.blocks[1].experts *= 1.05
    with tensortap.tap(policy, run=run, level="tokens") as tap:
        if run == "batch":
            read_batch(policy, ids, tap)
        elif run == "whole":
            policy(ids)
        elif run == "alone":
            for row in ids:
                policy(row[None])
        else:
            read_cached(policy, ids, tap, run)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        record(name)
