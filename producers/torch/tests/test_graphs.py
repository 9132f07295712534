"""Replays of CUDA graphs are counted. Without a GPU none can be made, so PyTorch's method is called with what is none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tensortap.graphs import GraphWatch
from tensortap.unseen import Unseen


def replay() -> None:
    method: Any = torch.cuda.CUDAGraph.replay
    with pytest.raises((TypeError, AttributeError)):  # by version
        method(object())


def test_each_replay_is_counted_and_reaches_pytorch() -> None:
    original, counts = torch.cuda.CUDAGraph.replay, Unseen()
    watch = GraphWatch(counts)
    watch.install()
    watch.install()
    replay()
    replay()
    assert counts.drain() == [("cuda graph", "", 2)]
    watch.remove()
    watch.remove()
    assert torch.cuda.CUDAGraph.replay is original
    replay()
    assert counts.drain() == []


def test_a_wrap_above_ours_is_left_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Unseen()
    watch = GraphWatch(counts)
    original = torch.cuda.CUDAGraph.replay
    watch.install()
    ours: Any = torch.cuda.CUDAGraph.replay

    def theirs(graph: Any) -> None:
        ours(graph)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", theirs)
    watch.remove()
    replay()
    assert torch.cuda.CUDAGraph.replay is theirs and counts.drain() == []
    monkeypatch.undo()
    setattr(torch.cuda.CUDAGraph, "replay", original)
