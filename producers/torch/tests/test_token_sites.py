"""Level tokens: each token at places of the model."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._record import unseen
from tensortap._record.served_requests import prompt_of
from tensortap._stats.token_sums import SCALE, packed, sums_of


class Layer(nn.Module):
    """Adds what its attention says, and keeps that aside if asked."""

    def __init__(self, *, aside: bool) -> None:
        super().__init__()
        self.self_attn, self.aside = nn.Linear(8, 8), aside

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """The residual stream, or its two parts."""
        added = self.self_attn(x)
        return (added, x) if self.aside else x + added


class Model(nn.Module):
    """Of two layers."""

    def __init__(self, *, aside: bool = False) -> None:
        super().__init__()
        self.embed_tokens, self.lm_head = nn.Embedding(16, 8), nn.Linear(8, 16)
        self.layers = nn.ModuleList(Layer(aside=aside) for _ in range(2))

    def forward(self, ids: Tensor, last: int = 0) -> Tensor:
        """Logits, of the last tokens only if asked."""
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x)
            x = x[0] + x[1] if isinstance(x, tuple) else x
        return self.lm_head(x[:, -last:])


class CarryingLayer(nn.Module):
    """Leaves the residual to the batch, as layers of SGLang do."""

    def __init__(self) -> None:
        super().__init__()
        self.self_attn = nn.Linear(8, 8)

    def forward(self, x: Tensor, batch: SimpleNamespace) -> Tensor:
        """What it adds."""
        stream = batch.residual_stream
        stream.residual = x if stream.pending is None else stream.residual + x
        stream.pending = self.self_attn(stream.residual)
        return stream.pending


class Carrying(nn.Module):
    """Of two such layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(16, 8)
        self.layers = nn.ModuleList(CarryingLayer() for _ in range(2))

    def forward(self, ids: Tensor, batch: SimpleNamespace) -> list[Tensor]:
        """The residual stream behind each layer."""
        x, streams = self.embed_tokens(ids), []
        for layer in self.layers:
            x = layer(x, batch)
            streams.append(x + batch.residual_stream.residual)
        return streams


def _rows(spooled: reading.Spooled) -> dict[tuple[int, int, int, int, int], tuple[Any, ...]]:
    """By prompt, sample, position, layer and place: norm, mean, words of sums; of the last call, all tokens of it."""
    found: dict[tuple[int, int, int, int, int], tuple[Any, ...]] = {}
    head: tuple[Any, ...] = ()
    for kind, row in spooled.rows:
        if kind == "sequence":
            head = row
        elif kind == "token_sites":
            assert row[0] == head[2]
            for at in range(row[1] & 0xFF):
                key = head[0], head[3], row[2] + at, row[1] >> 16, row[1] >> 8 & 0xFF
                found[key] = (*row[3 + 4 * at : 7 + 4 * at], head[11])
    return found


def test_tokens_are_told_of_at_each_place(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model, ids = Model(), torch.randint(16, (2, 5))
    with torch.no_grad(), tensortap.tap(model, run="r", level="tokens", spool=tmp_path):
        model(ids)
    rows = _rows(reading.only(tmp_path))
    places = [(0, 1), (1, 2), (1, 4), (2, 2), (2, 4), (3, 5)]
    hashes = [prompt_of(row.tolist()).hash for row in ids]
    assert rows.keys() == {(prompt, 0, position, *place) for prompt in hashes for position in range(5) for place in places}
    wanted = model.embed_tokens(ids)[1, 3].detach()
    norm, mean, _, _, count = rows[hashes[1], 0, 3, 0, 1]
    assert count == 10 and math.isclose(norm, float(wanted.norm()), rel_tol=1e-6) and math.isclose(mean, float(wanted.mean()), rel_tol=1e-5)


def test_a_residual_kept_aside_is_added(tmp_path: Path) -> None:
    found = []
    for aside in (False, True):
        torch.manual_seed(1)
        with torch.no_grad(), tensortap.tap(model := Model(aside=aside), run="r", level="tokens", spool=tmp_path / str(aside)):
            model(torch.tensor([[1, 2, 3]]))
        found.append(_rows(reading.only(tmp_path / str(aside))))
    assert found[0] == found[1]


def test_one_token_more_of_each_goes_on_with_the_sequences(tmp_path: Path) -> None:
    model = Model()
    with torch.no_grad(), tensortap.tap(model, run="r", level="tokens", spool=tmp_path):
        for ids in ([[1, 2, 3]], [[4]], [[5]], [[6, 7]]):
            model(torch.tensor(ids))
    positions = [key[:3] for key in _rows(reading.only(tmp_path)) if key[3:] == (1, 4)]
    first, second = prompt_of([1, 2, 3]).hash, prompt_of([6, 7]).hash
    assert positions == [(first, 0, at) for at in range(5)] + [(second, 0, at) for at in range(2)]


def test_what_the_program_says_of_a_padded_batch_counts(tmp_path: Path) -> None:
    model, ids = Model(), torch.tensor([[0, 0, 1], [2, 3, 4]])
    with torch.no_grad(), tensortap.tap(model, run="r", level="tokens", spool=tmp_path) as tap:
        tap.sequences({"prompt": 7, "tokens": 1, "row": 2, "position": 9, "sample": 3}, {"prompt": 8, "tokens": 3})
        model(ids)
        model(ids)
    rows = [key[:3] for key in _rows(reading.only(tmp_path)) if key[3:] == (0, 1)]
    assert rows[:4] == [(7, 3, 9), (8, 0, 0), (8, 0, 1), (8, 0, 2)]
    assert len(rows) == 4 + 6  # the second call says for itself whose they are


def test_what_cannot_be_paired_is_counted(tmp_path: Path) -> None:
    model = Model()
    with torch.no_grad(), tensortap.tap(model, run="r", level="tokens", spool=tmp_path):
        model(torch.tensor([[1, 2, 3]]), last=2)
    spooled = reading.only(tmp_path)
    assert spooled.steps[0].unseen[unseen.TOKENS, "lm_head: not all tokens are there"] == 2
    assert not any(key[4] == 5 for key in _rows(spooled))


def test_logits_of_the_last_tokens_are_those_of_each_sequence(tmp_path: Path) -> None:
    model, ids = Model(), torch.tensor([[1, 2, 3], [4, 5, 6]])
    with torch.no_grad(), tensortap.tap(model, run="r", level="tokens", spool=tmp_path) as tap:
        tap.sequences({"prompt": 7, "tokens": 3, "row": 3, "position": 5}, {"prompt": 8, "tokens": 3, "row": 0})
        logits = model(ids, last=1)
    rows = {key[:3]: row for key, row in _rows(reading.only(tmp_path)).items() if key[4] == 5}
    assert rows.keys() == {(7, 0, 7), (8, 0, 2)}
    assert math.isclose(rows[7, 0, 7][0], float(logits[1].norm()), rel_tol=1e-6)


def test_a_residual_that_the_batch_carries_is_added(tmp_path: Path) -> None:
    batch = SimpleNamespace(residual_stream=SimpleNamespace(residual=None, pending=None))
    model = Carrying()
    torch.manual_seed(1)
    with torch.no_grad(), tensortap.tap(model, run="r", level="tokens", spool=tmp_path):
        given = model(torch.tensor([[1, 2, 3]]), batch)
    rows = {key[2:]: row for key, row in _rows(reading.only(tmp_path)).items()}
    assert [math.isclose(rows[at, layer, 4][0], float(one[0, at].norm()), rel_tol=1e-6) for layer, one in enumerate(given, 1) for at in range(3)] == [True] * 6


def test_a_model_without_layers_is_counted(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    with tensortap.tap(model, run="r", level="tokens", spool=tmp_path):
        model(torch.ones(1, 2))
    assert reading.only(tmp_path).steps[0].unseen[unseen.TOKENS, "no list of layers in the model"] == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_distance_of_two_tokens_is_estimated_by_their_sums(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    one = torch.randn(2000, 64, dtype=torch.float64)
    other = one + 0.1 * torch.randn(2000, 64, dtype=torch.float64)
    squares = ((sums_of(one.to(dtype)) - sums_of(other.to(dtype)))[:, 2:6] ** 2).mean(1)
    true = ((one - other) ** 2).sum(1)
    assert 0.97 < float((squares / true).mean()) < 1.03


def test_the_sums_of_a_token_are_the_same_in_each_release() -> None:
    (norm, mean, low, high), (_, _, count, none) = packed(sums_of(torch.tensor([[3.0, 4.0, 0.0, 0.0], [math.nan, math.inf, 1.0, 2.0]])))
    assert (norm, mean, count, none) == (5.0, 1.75, 2, 0)
    sums = [(word & 0xFFFF ^ 0x8000) - 0x8000 for word in (low, low >> 16, high, high >> 16)]
    assert [round(one * 5 / SCALE) for one in sums] == [-3 - 4, 3 + 4, -3 + 4, -3 - 4]
