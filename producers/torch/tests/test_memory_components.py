"""What memory is for: exact in bytes for a real model, its gradients and its optimizer."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._health.memory import Component, Memory, Reader
from tensortap._health.pace import Pace
from tensortap._health.storages import Storages
from tensortap._record.guard import Guard
from tensortap._record.unseen import Unseen
from tensortap._session import memory_rows
from tensortap._session.memory_components import MemoryComponents
from tensortap._spool import layout
from tensortap._spool.spool import Spool

WIDTH = 256
LAYER = 4 * (WIDTH * WIDTH + WIDTH)  # bytes of a linear layer
STATES = 2 * 2 * LAYER + 4 * 4  # AdamW's two moments, and a count of steps for each parameter


class Tied(nn.Module):
    """Two layers, one of them under two names, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.again = self.second
        self.register_buffer("table", torch.zeros(1000))

    def forward(self, given: Tensor) -> Tensor:
        result: Tensor = self.again(self.second(self.first(given)))
        return result


WEIGHTS = 2 * LAYER + 4000


def _train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()  # as the next step begins, so that gradients are gone where this one ends
    model(torch.ones(2, WIDTH)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def _allocated(step: reading.Step) -> dict[str, int | None]:
    return {component: held[0] for (device, component), held in step.components.items() if device == "cpu"}


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_weights_gradients_and_states_of_an_optimizer_are_exact(level: str, tmp_path: Path) -> None:
    model = Tied()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    with tensortap.tap(model, run="parts", level=level, spool=tmp_path):
        for _ in range(2):
            _train(model, optimizer)
    for step in reading.only(tmp_path).steps:
        parts = _allocated(step)
        resident = step.memory[-1][1][7]
        other = resident - WEIGHTS - STATES
        assert parts == {"weights": WEIGHTS, "gradients": 2 * LAYER, "optimizer": STATES, "other": other}


def test_a_model_that_only_serves_has_neither_gradients_nor_states(tmp_path: Path) -> None:
    model = Tied().eval()
    with tensortap.tap(model, run="served", spool=tmp_path), torch.no_grad():
        for _ in range(2):
            model(torch.ones(2, WIDTH))
    assert [set(_allocated(step)) for step in reading.only(tmp_path).steps] == [{"weights", "other"}] * 2


def test_gradients_of_a_step_without_an_optimizer_are_those_at_its_end(tmp_path: Path) -> None:
    model = Tied()
    with tensortap.tap(model, run="accumulating", spool=tmp_path) as tap:
        model(torch.ones(2, WIDTH)).sum().backward()
        tap.step()
    (step,) = reading.only(tmp_path).steps
    assert _allocated(step)["gradients"] == 2 * LAYER


def _components(model: nn.Module) -> MemoryComponents:
    found = MemoryComponents([model], Guard(Unseen()))
    found.begin_step()
    return found


def _look(components: MemoryComponents, *kv: Component, **counters: Any) -> dict[str, Component]:
    found = {one.name: one for one in components.end_step([Memory(**counters)], lambda: kv)}
    components.rest()
    return found


def _ended(model: nn.Module, *kv: Component, **counters: Any) -> dict[str, Component]:
    return _look(_components(model), *kv, **counters)


class OwnWeights(torch.optim.AdamW):
    """Steps copies of a model's weights, as those of mixed precision."""


def test_copies_of_weights_that_only_an_optimizer_has_are_its_own() -> None:
    model = Tied().bfloat16()
    copies = [weight.detach().float().requires_grad_() for weight in model.parameters()]
    optimizer = OwnWeights(copies, foreach=False)
    components = _components(model)
    for one in copies:
        one.grad = torch.ones_like(one)
    optimizer.step()
    found = _look(components, host_resident_bytes=1 << 40)
    assert found["weights"].allocated_bytes == WEIGHTS // 2
    assert found["gradients"].allocated_bytes == 2 * LAYER
    assert found["optimizer"].allocated_bytes == STATES + 2 * LAYER


def test_a_device_says_what_its_activations_and_the_rest_took() -> None:
    kv = Component(name="kv", basis="token pool", device="cuda:0", allocated_bytes=100, reserved_bytes=400)
    found = _ended(Tied(), kv, device="cuda:0", allocated_bytes=1000, peak_bytes=1700)
    assert found["kv"] == kv
    assert (found["activations"].allocated_bytes, found["activations"].peak_bytes) == (None, 700)
    assert found["other"].allocated_bytes == 600


def test_what_lies_elsewhere_leaves_no_rest_to_tell() -> None:
    found = _ended(Tied(), host_resident_bytes=1000)
    assert set(found) == {"weights"}


def test_a_model_without_memory_has_no_weights() -> None:
    with torch.device("meta"):
        model = Tied()
    assert set(_ended(model, host_resident_bytes=1000)) == {"other"}


def test_a_storage_counts_once_whoever_has_a_view_of_it() -> None:
    whole = torch.zeros(1000)
    sparse = torch.sparse_coo_tensor(torch.tensor([[1, 2]]), torch.ones(2), (5,), check_invariants=True)
    met = Storages()
    assert met.new_bytes(iter([whole, whole[10:], {"nested": [whole.view(10, 100), 3]}])) == {"cpu": 4000}
    assert met.new_bytes(iter([whole])) == {}
    assert met.new_bytes(iter([sparse])) == {"cpu": 2 * 8 + 2 * 4}


def test_weights_that_a_subclass_wraps_are_counted() -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    assert Storages().new_bytes(iter([TwoTensor(torch.zeros(10), torch.zeros(10))])) == {"cpu": 80}


def test_a_tap_that_ended_hears_of_no_optimizer(tmp_path: Path) -> None:
    from torch.optim.optimizer import _global_optimizer_pre_hooks

    before = copy.copy(_global_optimizer_pre_hooks)
    model = Tied()
    with tensortap.tap(model, run="ended", spool=tmp_path):
        _train(model, torch.optim.AdamW(model.parameters()))
    assert _global_optimizer_pre_hooks == before


def _looks(pace: Pace, now: int, step_ns: int, cost_ns: int) -> Iterator[bool]:
    while True:
        due = pace.is_due()
        yield due
        now += step_ns
        if due:
            pace.took(cost_ns, now)


def test_looks_become_rare_where_steps_are_short_and_frequent_again_where_they_are_long() -> None:
    pace = Pace()
    short = _looks(pace, 0, step_ns=1_000_000, cost_ns=50_000)  # a look a step would be 5 %
    taken = [next(short) for _ in range(2048)]
    assert taken[:2] == [True, True]
    assert sum(taken[1024:]) * 50_000 <= 1024 * 1_000_000 / 200
    long = _looks(pace, 2048 * 1_000_000, step_ns=1_000_000_000, cost_ns=50_000)
    assert all([next(long) for _ in range(200)][100:])


def test_a_step_without_a_look_has_no_components() -> None:
    components = _components(Tied())
    assert _look(components, host_resident_bytes=1 << 40)
    assert components.end_step([Memory()], tuple) == []


def test_a_full_spool_has_room_for_what_matters_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spool, "_look_at_agent", lambda _: True)
    spool = Spool(tmp_path, segments=2, segment_rows=24)
    row = [Component(name="other", basis="", device="cpu", allocated_bytes=0)]
    written = 0
    while not spool.is_full:
        written += spool.write(layout.STEP_KIND, layout.STEP, *[0] * 10)
    assert written > 2 * 24
    rows = memory_rows.MemoryRows(spool, [], Guard(Unseen()))
    monkeypatch.setattr(MemoryComponents, "end_step", lambda *_: row * 3)
    monkeypatch.setattr(Reader, "end_step", lambda _: [])
    rows.end_step(tuple)
    assert spool.dropped == 3
    assert spool.write(layout.STEP_KIND, layout.STEP, *[0] * 10)
    spool.close()


def test_what_an_engine_cannot_tell_costs_the_step_nothing_but_its_components(tmp_path: Path) -> None:
    def fails() -> Any:
        raise AttributeError("of another release")

    model = Tied()
    with tensortap.tap(model, run="other release", spool=tmp_path) as tap:
        tap.facts = type(tap.facts)(read_kv=fails)
        model(torch.ones(2, WIDTH))
    (step,) = reading.only(tmp_path).steps
    assert step.ended is not None and step.memory and not step.components
