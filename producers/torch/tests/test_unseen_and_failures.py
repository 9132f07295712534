"""Counted reasons, and exceptions as text."""

from __future__ import annotations

from pathlib import Path

import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._record import unseen
from tensortap._record.failures import LONGEST_MESSAGE_BYTES, cut, describe


def test_counts_are_given_once() -> None:
    counts = unseen.Unseen()
    counts.count(unseen.FILTERED, "layers.1")
    counts.count(unseen.FILTERED, "layers.1")
    counts.count(unseen.OTHER_THREAD)
    assert counts.drain() == [("filtered", "layers.1", 2), ("other thread", "", 1)]
    assert counts.drain() == []


def test_subjects_beyond_the_limit_are_counted_together() -> None:
    counts = unseen.Unseen()
    for number in range(unseen.MOST_PAIRS + 10):
        counts.count(unseen.FILTERED, f"op {number}")
    drained = counts.drain()
    assert len(drained) == unseen.MOST_PAIRS + 1
    assert drained[-1] == (unseen.OTHER_REASONS, "", 10)


def test_reasons_differ() -> None:
    constants = [value for name, value in vars(unseen).items() if name.isupper() and isinstance(value, str)]
    assert sorted(constants) == sorted(unseen.REASONS) and len(set(constants)) == len(constants)


def test_a_failure_tells_what_the_op_was_given() -> None:
    weight = torch.zeros(2, 3, requires_grad=True)
    kind, message, inputs = describe(RuntimeError("no"), (weight, [1, None]), {"eps": 1e-6, "mask": torch.ones(1, dtype=torch.bool)})
    assert (kind, message) == ("RuntimeError", "no")
    assert inputs.splitlines() == [
        "input.0: float32[2, 3] strides [3, 1] cpu requires_grad",
        "input.1.0: 1",
        "input.1.1: None",
        "kwarg.eps: 1e-06",
        "kwarg.mask: bool[1] strides [1] cpu",
    ]


class Stubborn(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")

    @property
    def dtype(self) -> str:
        raise ValueError("nor that")


def test_what_cannot_be_shown_is_no_error() -> None:
    kind, message, inputs = describe(Stubborn(), (Stubborn(), object()))
    assert kind.endswith("Stubborn")
    assert message == "Stubborn that cannot be shown"
    assert inputs.splitlines() == ["input.0: Stubborn that cannot be shown", "input.1: object"]


def test_long_texts_are_cut_at_whole_characters() -> None:
    assert cut("short") == "short"
    text = cut("é" * 5000)
    assert len(text.encode()) <= LONGEST_MESSAGE_BYTES and text.endswith(" ...")


def test_many_inputs_are_counted() -> None:
    assert describe(ValueError(), tuple(range(100)))[2].splitlines()[-1] == "and 36 more"


class TwoCalls(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] == 4:
            return self.inner(x)  # as it was called first
        return self.inner(x)  # as it was called when it raised


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_a_failure_has_the_stack_that_it_comes_from(level: str, tmp_path: Path) -> None:
    model = TwoCalls()
    with tensortap.tap(model, run="r", level=level, spool=tmp_path):
        model(torch.ones(1, 4))
        with pytest.raises(RuntimeError):
            model(torch.ones(1, 5))
    spooled = reading.only(tmp_path)
    (stack,) = [row[5] for kind, row in spooled.rows if kind == "failure"]
    frames = spooled.named("stack", stack)["frames"]
    ours = [frame for frame in frames if __file__ in frame]
    assert "as it was called when it raised" in ours[0] and "test_a_failure_has" in ours[1]
    assert not any("as it was called first" in frame for frame in frames)
    assert "torch/nn/modules/linear.py" in frames[0], "it begins where the exception was raised"
