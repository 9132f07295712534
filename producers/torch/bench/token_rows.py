"""What level tokens costs a training step: of the places that it looks at, and of eight places in each layer.

    python bench/token_rows.py                  prints the table
    python bench/token_rows.py --write PAGE     writes it into its section of the page
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import torch
from pages import TOKEN_ROWS
from pairs import RECORDED, Pairs, by_turns
from subjects import Subject, llama
from torch import nn

import tensortap
from tensortap._hooks import token_places
from tensortap._record.model_roots import Part
from tensortap._record.token_sites import ATTENTION, EMBEDDING, LOGITS, Site

PAIRS = int(os.environ.get("TENSORTAP_BENCH_PAIRS", "30"))
THREADS = 2  # of the model
LAYERS, MARK = 8, 1.05
EIGHT = ("input_layernorm", "self_attn.q_proj", "self_attn.o_proj", "self_attn", "post_attention_layernorm", "mlp.down_proj", "mlp", "")

HEAD = """## Level tokens

A Llama of {layers} layers of 1,024, on 2 × 128 tokens; {threads} threads, torch {torch}, median of {pairs} pairs of neighbouring training steps. One of a pair is recorded at level
`tokens` and the other armed, each in turn the first; the end of the step counts with it. Level `tokens` looks at two places in each layer of this model, and at the embedding and the logits. The mark is
for eight in each: here those of both norms, q_proj, o_proj, attention, down_proj, MLP and the layer.

| places in each layer | rows a step | ms a step | training | CPU | ms added | mark | |
|---|---|---|---|---|---|---|---|
"""


def _eight(parts: list[Part]) -> Iterator[tuple[Site, nn.Module]]:
    """Those that the level looks at outside of the layers, and eight in each."""
    below = {f"model.layers.{layer}.{name}".removesuffix("."): layer + 1 for layer in range(LAYERS) for name in EIGHT}
    yield from (found for found in _usual(parts) if found[0].place in (EMBEDDING, LOGITS))
    for part in parts:
        if layer := below.get(part.path):
            yield Site(layer, ATTENTION, part.path), part.module


_usual = token_places.places


def _row(places: int, subject: Subject) -> str:
    pairs = _timed(places, subject)
    rows = subject.tokens.numel() * (places * LAYERS + 2)
    mark = f"{MARK:.2f} | {'met' if pairs.ratio() <= MARK else 'missed'}" if places == len(EIGHT) else " | "
    return f"| {places} | {rows:,} | {pairs.milliseconds():.0f} | {pairs.ratio():.3f} | {pairs.ratio(1):.3f} | {1e3 * pairs.added():.1f} | {mark} |"


def _timed(places: int, subject: Subject) -> Pairs:
    """Pairs of steps under a tap that has all places."""
    more = patch.object(token_places, "places", _eight) if places == len(EIGHT) else nullcontext()
    with tempfile.TemporaryDirectory() as folder, more:
        with tensortap.tap(subject.model, run="bench", level="tokens", steps=RECORDED, spool=Path(folder)) as tap:

            def step() -> None:
                subject.train()
                tap.step()

            return by_turns(step, PAIRS)


def table() -> str:
    """The section."""
    torch.set_num_threads(THREADS)
    subject = llama(1024, LAYERS, 8, 2752, 128)
    rows = [_row(places, subject) for places in (2, len(EIGHT))]
    return HEAD.format(layers=LAYERS, threads=THREADS, torch=torch.__version__, pairs=PAIRS) + "\n".join(rows)


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    page = parser.parse_args().write
    if page:
        TOKEN_ROWS.write(page, table())
    else:
        print(table())


if __name__ == "__main__":
    main()
