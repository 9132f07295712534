"""CUDA graphs: replays are counted, and PyTorch makes graphs of modules that are tapped. Without a GPU none can be made: what stands for one does nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import reading
import torch

import tensortap
from tensortap._hooks.cuda_graphs import GraphWatch
from tensortap._record.unseen import Unseen
from tensortap._stats.measure import Measurer


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


class _Graph:
    """Stands for a CUDA graph, whose replay computes nothing."""

    def replay(self) -> None:
        """Leave the outputs as they were."""


@pytest.fixture
def _no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's own function makes graphs, as far as it does so in Python."""
    monkeypatch.setattr(torch.cuda, "CUDAGraph", _Graph)
    for name in ("graph", "stream"):
        monkeypatch.setattr(torch.cuda, name, lambda *_, **__: nullcontext())
    for place, name in ((torch.cuda, "synchronize"), (torch.cuda, "Stream"), (torch.cuda.graphs, "graph_pool_handle")):
        monkeypatch.setattr(place, name, lambda: None)


def _hooks(model: torch.nn.Module) -> list[Any]:
    return [list(hooks.items()) for part in model.modules() for hooks in (part._forward_pre_hooks, part._forward_hooks)]


@pytest.mark.usefixtures("_no_device")
@pytest.mark.parametrize("is_recorded", [False, True], ids=["armed", "recorded"])
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_modules_that_are_tapped_become_graphs(tmp_path: Path, level: Any, is_recorded: bool) -> None:
    original, model, given = torch.cuda.make_graphed_callables, torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()), torch.ones(3)
    with tensortap.tap(model, run="graphed", level=level, spool=tmp_path) as tap:
        if is_recorded:
            model(given)
        assert not any(before := _hooks(model))
        assert torch.cuda.make_graphed_callables(model, (given,)) is model
        assert _hooks(model) == before
        tap.step() if is_recorded else None
        model(given).sum().backward()
    first, *rest = reading.only(tmp_path).steps
    assert is_recorded == bool(rest) == (("cuda graph", "capture") in first.unseen)
    replayed = rest[0] if rest else first
    assert replayed.unseen["cuda graph", ""] == 2, "forward and backward"
    assert not [name for name in replayed.begun if "Linear.forward" in name]
    if is_recorded:
        assert first.begun.count("Module.0.Linear.forward.0") == 1 and "Module.0.Linear.forward.1" not in first.begun
    assert torch.cuda.make_graphed_callables is torch.cuda.graphs.make_graphed_callables is original


@pytest.mark.usefixtures("_no_device")
def test_modules_with_hooks_of_the_program_are_refused_as_without_a_tap(tmp_path: Path) -> None:
    model, given = torch.nn.Sequential(torch.nn.Linear(3, 3)), torch.ones(3)
    theirs = model.register_forward_hook(lambda *_: None)
    with tensortap.tap(model, run="refused", spool=tmp_path):
        last = model.register_forward_pre_hook(lambda *_: None)
        before = _hooks(model)
        with pytest.raises((AssertionError, RuntimeError), match="hooks"):
            torch.cuda.make_graphed_callables(model, (given,))
        assert _hooks(model) == before
        last.remove()
    assert _hooks(model) == [[], [(theirs.id, model._forward_hooks[theirs.id])], [], []]


def test_a_step_does_not_end_within_a_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To send for a step's rows asks the device, which a stream that is captured refuses: the program's capture would be lost."""
    model, capturing, sent = torch.nn.Sequential(torch.nn.Identity()), False, list[bool]()
    whole = Measurer.send

    def send(self: Measurer) -> Any:
        sent.append(capturing)
        return whole(self)

    monkeypatch.setattr(Measurer, "send", send)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: capturing)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing)
    with tensortap.tap(model, run="captured", level="L0", spool=tmp_path):
        for capturing in (False, True, False):
            model(torch.ones(3).as_subclass(_OfDevice) if capturing else torch.ones(3))
    assert sent == [False, False]
    captured, after = reading.only(tmp_path).steps
    assert captured.unseen == {("cuda graph", "capture"): 2} and len(captured.values) == 2
    assert len(after.values) == 2
