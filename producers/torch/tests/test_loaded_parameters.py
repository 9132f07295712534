"""What a rank says of its parameters as its first step begins: enough to see which differ from those of another run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import interpreting
import pytest
import reading
import torch
from measuring import measure
from torch import Tensor, nn

import tensortap
from tensortap._record.model_roots import FoundRoots, Roots
from tensortap._record.unseen import Unseen
from tensortap._session import loaded_parameters
from tensortap._stats.digest import digest
from tensortap._stats.measure import Measurer

GIVEN = torch.ones(2, 3)


def recorded(model: nn.Module, folder: Path, **given: Any) -> dict[str, str]:
    with tensortap.tap(model, run="r", spool=folder, **given):
        model(GIVEN)
    found: dict[str, str] = reading.only(folder).definitions[1]["parameters"]
    return found


def of(model: nn.Module) -> dict[str, str]:
    return loaded_parameters.checksums(Roots(model), Unseen())


class Odd(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.ones(()))
        self.inner = nn.BatchNorm1d(3)
        self.tied = nn.Linear(3, 3, bias=False)
        self.again = nn.Linear(3, 3, bias=False)
        self.again.weight = self.tied.weight
        self.none = nn.LazyLinear(2)
        self.meta = nn.Linear(2, 2, device="meta")
        self.register_buffer("scratch", torch.empty(3), persistent=False)

    def forward(self, given: Tensor) -> Tensor:
        return self.again(self.inner(given)) * self.own


def test_each_parameter_and_saved_buffer_has_one(tmp_path: Path) -> None:
    model = Odd()
    found = recorded(model, tmp_path)
    assert set(found) == {"own", "tied.weight", *(f"inner.{name}" for name in model.inner.state_dict())}
    assert found["tied.weight"] == f"{digest(model.tied.weight):016x} float32[3, 3]"
    assert found["inner.num_batches_tracked"].endswith(" int64[]")


def test_whatever_a_checksum_raises_costs_the_checksums_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> dict[str, str]:
        raise subprocess.CalledProcessError(1, "gcc")

    monkeypatch.setattr(loaded_parameters, "_read", fails)
    assert recorded(nn.Linear(3, 3), tmp_path) == {}
    (step,) = reading.only(tmp_path).steps
    assert step.ended and step.unseen["hook error", "checksums of parameters: CalledProcessError"] == 1


def test_they_are_those_before_the_first_step(tmp_path: Path) -> None:
    model = nn.Sequential(nn.BatchNorm1d(3))
    before = of(model)
    assert recorded(model, tmp_path) == before != of(model)


def test_one_weight_that_differs_is_the_only_one() -> None:
    torch.manual_seed(0)
    last = nn.Linear(3, 3)
    first, second = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 3), last)
    second.load_state_dict(first.state_dict())
    assert of(first) == of(second)
    with torch.no_grad():
        last.weight[2, 1] += 1
    assert {name for name, said in of(first).items() if of(second)[name] != said} == {"1.weight"}


def test_nothing_is_read_where_no_numbers_are_wanted(tmp_path: Path) -> None:
    assert recorded(nn.Sequential(nn.Linear(3, 3)), tmp_path, task="structure") == {}


def test_found_models_have_names_without_wrappers() -> None:
    roots, model = FoundRoots(), nn.Sequential(nn.Linear(3, 3, bias=False))
    wrapped = nn.DataParallel(model)
    roots.add(wrapped)
    assert set(loaded_parameters.checksums(roots, Unseen())) == {"0.weight"}


def test_of_a_large_model_the_same_part_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_parameters, "_MOST_READ", {"cpu": 1000})
    layer = nn.Linear(64, 16)
    model = nn.Sequential(layer)
    found = of(model)
    assert found["0.weight"] == f"{digest(layer.weight[:, ::8].contiguous()):016x} float32[16, 64], every 8th"
    with torch.no_grad():
        layer.weight[0, 1] += 1
        assert of(model) == found
        layer.weight[0, 8] += 1
    assert of(model) != found


def test_too_many_are_told_by_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_parameters, "_MOST_NAMES", 4)
    last = nn.Linear(2, 2)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2), layer) for layer in (nn.Linear(2, 2), last, nn.Linear(2, 2))))
    found = of(model)
    assert set(found) == {"0", "1", "2"} and all(re.fullmatch("[0-9a-f]{16} 4 together", said) for said in found.values())
    with torch.no_grad():
        last.bias[0] += 1
    assert [name for name, said in of(model).items() if found[name] != said] == ["1"]


def test_more_than_all_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_parameters, "_MOST_NAMES", 1)
    assert set(of(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))) == {"all 2"}


@pytest.mark.usefixtures("interpreted")
def test_on_a_device_it_is_the_same() -> None:
    whole, odd = torch.randn(3000, 7), torch.randn(5, 3).t()
    found = loaded_parameters._on_device({"whole": whole, "odd": odd}, whole.device)
    assert found == {"whole": digest(whole), "odd": digest(odd)}


def test_kernels_for_devices() -> None:
    interpreting.run_all(__file__)


def test_it_is_the_digest_of_rows_of_tensors() -> None:
    layer = nn.Linear(3, 3)
    row = measure(Measurer(1, False, True), layer.weight).digest
    assert row is not None and of(nn.Sequential(layer))["0.weight"].startswith(f"{row[0]:016x} ")
