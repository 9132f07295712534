"""Tokens that a program tells of, with their log-probabilities, and checksums of weights after updates."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy
import pytest
import reading
import torch
from torch import nn

import tensortap
from tensortap._record import sampled_tokens, unseen
from tensortap._record.sampled_tokens import Said, TokenLog
from tensortap._record.served_requests import prompt_of
from tensortap._record.unseen import Unseen
from tensortap._spool import layout
from tensortap._spool.spool import Spool


def _tokens(spooled: reading.Spooled) -> list[tuple[Any, ...]]:
    """Prompt, sample, phase, step, global step, version, cached, temperature, position, id, log-probability, entropy of each."""
    found: list[tuple[Any, ...]] = []
    head: tuple[Any, ...] = ()
    for kind, row in spooled.rows:
        if kind == "sequence":
            head = row
        elif kind == "tokens":
            assert row[0] == head[2]
            for at in range(row[2]):
                phase = spooled.named("text", head[4])["text"] if head[4] else ""
                temperature = head[9] if head[10] & layout.TEMPERATURE else None
                entropy = row[11 + at] if head[10] & layout.ENTROPIES else None
                found.append((head[0], head[3], phase, *head[5:9], temperature, row[1] + at, row[3 + at], row[7 + at], entropy))
    return found


def test_tokens_are_on_file_as_they_were_told(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    prompt = [5, 6]
    with tensortap.tap(model, run="rollout", spool=tmp_path) as tap:
        tap.start()
        model(torch.ones(1, 2))
        tap.tokens(prompt=prompt, ids=torch.tensor([7, 8, 9, 1, 2]), logprobs=torch.tensor([-0.5, -1, -1.5, -2, -2.5]), positions=2, sample=3, phase="decode")
        tap.step()
        lists = numpy.array([-1.0, float("nan")]), numpy.array([0.25, 0.5])
        tap.tokens(prompt="math/17", ids=[3, 4], logprobs=lists[0], entropies=lists[1], positions=[9, 4], temperature=0.5, weights=6, global_step=40, cached=2)
    spooled = reading.only(tmp_path)
    told = _tokens(spooled)
    five = [(prompt_of(prompt).hash, 3, "decode", 0, 0, 0, 0, None, 2 + at, [7, 8, 9, 1, 2][at], -0.5 - at / 2, None) for at in range(5)]
    assert told[:5] == five
    assert told[5][1:] == (0, "", 0, 41, 7, 3, 0.5, 9, 3, -1.0, 0.25)
    assert told[6][:10] == (told[5][0], 0, "", 0, 41, 7, 3, 0.5, 4, 4) and math.isnan(told[6][10])


def test_a_prompt_is_known_by_ids_hash_or_name(tmp_path: Path) -> None:
    with tensortap.tap(nn.Linear(1, 1), run="rollout", spool=tmp_path) as tap:
        for prompt in ([1, 2], torch.tensor([1, 2]), prompt_of([1, 2]).hash, "1, 2"):
            tap.tokens(prompt=prompt, ids=[1], logprobs=[0.0], positions=0)
    hashes = [token[0] for token in _tokens(reading.only(tmp_path))]
    assert hashes[:3] == [prompt_of([1, 2]).hash] * 3 and hashes[3] not in (0, hashes[0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"logprobs": [0.0, 0.0]},
        {"positions": [1, 2]},
        {"ids": [-1]},
        {"entropies": []},
        {"positions": -1},
        {"sample": -1},
        {"of": 1},
        {"prompt": None},
    ],
)
def test_what_cannot_be_read_is_counted_and_raises_nothing(wrong: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given: dict[str, Any] = {"prompt": 1, "ids": [1], "logprobs": [-1.0], "positions": 0}
    with tensortap.tap(nn.Linear(1, 1), run="rollout", spool=tmp_path) as tap:
        tap.tokens(**(given | wrong))
        tap.tokens(**given)
    spooled = reading.only(tmp_path)
    assert len(_tokens(spooled)) == 1
    assert [row[2] for kind, row in spooled.rows if kind == "unseen"] == [1]
    assert "an error of ours" in capsys.readouterr().err


def test_values_beyond_float32_are_infinite(tmp_path: Path) -> None:
    with tensortap.tap(nn.Linear(1, 1), run="rollout", spool=tmp_path) as tap:
        tap.tokens(prompt=1, ids=[1, 2], logprobs=[-1e300, -math.inf], positions=0)
    assert [token[10] for token in _tokens(reading.only(tmp_path))] == [-math.inf, -math.inf]


def test_tokens_of_steps_that_are_not_recorded_are_counted(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="rollout", spool=tmp_path, steps="1") as tap:
        tap.start()
        for step in range(2):
            model(torch.ones(1, 1))
            if not step:
                tap.weights(7)
            tap.tokens(prompt=1, ids=[1, 2], logprobs=[-1, -2], positions=0)
            tap.step()
        tap.tokens(prompt=1, ids=[3], logprobs=[-1], positions=2)
    spooled = reading.only(tmp_path)
    assert [(token[3], token[5], token[9]) for token in _tokens(spooled)] == [(1, 7 + 1, 1), (1, 7 + 1, 2), (1, 7 + 1, 3)]
    assert spooled.steps[0].unseen[unseen.TOKENS, "of a step that is not recorded"] == 2


def test_weights_of_an_update_have_their_checksums_and_tokens_their_version(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    with tensortap.tap(model, run="rollout", spool=tmp_path) as tap:
        tap.weights(4)
        tap.tokens(prompt=1, ids=[1], logprobs=[-1], positions=0)
        with torch.no_grad():
            model.bias += 1
        tap.weights(5)
    spooled = reading.only(tmp_path)
    rows = [(spooled.named("text", row[0])["text"], spooled.named("text", row[1])["text"], *row[2:]) for kind, row in spooled.rows if kind == "weight"]
    assert [(name, of, version) for name, of, _, _, version, _ in rows] == [
        ("weight", "float32[2, 2]", 4),
        ("bias", "float32[2]", 4),
        ("weight", "float32[2, 2]", 5),
        ("bias", "float32[2]", 5),
    ]
    assert rows[0][2] == rows[2][2] and rows[1][2] != rows[3][2]
    assert [token[5] for token in _tokens(spooled)] == [4 + 1]


class Event:
    """Stands for one of a device, which is done when it is told to be, or waited for."""

    def __init__(self) -> None:
        self.done = False

    def query(self) -> bool:
        """Whether it is done."""
        return self.done

    def synchronize(self) -> None:
        """Wait for it."""
        self.done = True


def test_what_is_on_its_way_is_written_in_its_order_when_it_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool, counts = Spool(tmp_path), Unseen()
    log, events = TokenLog(spool, counts), [Event(), None, Event()]
    monkeypatch.setattr(sampled_tokens, "_on_the_way", lambda told: (events.pop(0), told))
    monkeypatch.setattr(sampled_tokens, "MOST_WAITING", 2)
    first = events[0]
    assert first is not None
    for token in range(3):
        log.take({"prompt": 1, "ids": [token], "logprobs": [-1.0], "positions": token}, 0)
    assert log.is_waiting and counts.drain() == [(unseen.TOKENS, "more than a million on their way from devices", 1)]
    log.poll()
    assert not [kind for kind, _ in reading.read(spool.folder).rows]
    first.done = True
    log.poll()
    assert not log.is_waiting and [token[9] for token in _tokens(reading.read(spool.folder))] == [0, 1]
    events[:] = [Event()]
    log.take({"prompt": 1, "ids": [3], "logprobs": [-1.0], "positions": 3}, 0)
    log.forget()
    log.poll(wait=True)
    assert not log.is_waiting and len(_tokens(reading.read(spool.folder))) == 2
    spool.close()


def test_defaults_are_those_of_what_is_taken() -> None:
    assert set(Said.__dataclass_fields__) == sampled_tokens.SampledTokens.__required_keys__ | sampled_tokens.SampledTokens.__optional_keys__
