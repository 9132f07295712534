"""Replays of CUDA graphs are counted. Without a GPU none can be made, so PyTorch's method is called with what is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import reading
import torch

import tensortap
from tensortap._hooks.cuda_graphs import GraphWatch
from tensortap._record.unseen import Unseen


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


class _OfDevice(torch.Tensor):
    """Says that it lies on a GPU."""

    is_cuda = True


def test_within_a_capture_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    model = torch.nn.Sequential(torch.nn.Identity())
    with tensortap.tap(model, run="captured", level="L0", spool=tmp_path):
        model(torch.ones(3).as_subclass(_OfDevice))
        model(torch.ones(3))
    captured, usual = reading.only(tmp_path).steps
    assert captured.unseen == {("cuda graph", "capture"): 2} and not captured.values
    assert not usual.unseen and len(usual.values) == 2
