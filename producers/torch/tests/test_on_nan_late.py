"""The first value that is not finite on a device, whose numbers come late: they are waited for before weights are overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interpreting
import pytest
import rare
import reading
import torch
from torch import nn

import tensortap

BENCH = Path(__file__).parents[1] / "bench"


def test_all_in_an_interpreter() -> None:
    interpreting.run_all(__file__)


@pytest.fixture
def device(interpreted: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCH))
    from driving import driven
    from gpu_device import Device

    with driven() as driver, Device(name="cpu", is_interpreted=True).taps():
        driver.is_prompt = False
        yield


def _train(tmp_path: Path, model: nn.Module, **settings: Any) -> list[tuple[str, str, str, str]]:
    torch.manual_seed(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tensortap.tap(model, run="r", level="L0", spool=tmp_path / "spool", payload_folder=tmp_path / "kept", **settings) as tap:
        for step in range(4):
            optimizer.zero_grad()
            model(torch.randn(2, 4), step == 2).square().mean().backward()
            optimizer.step()
            tap.step()
    return [failure for step in reading.only(tmp_path / "spool").steps if step.number == 2 for failure in step.failures]


@pytest.mark.usefixtures("device")
def test_the_innermost_module_of_that_step_is_kept_with_its_weights(tmp_path: Path) -> None:
    (failure,) = _train(tmp_path, rare.Within(rare.Model()), on_nan="keep")
    assert failure[0] == "Module.part.rare.Rare.forward.0" and "NaN in output 0, 8 of 8 elements" in failure[2] and "not kept" not in failure[2]
    assert list((tmp_path / "kept").rglob("repeat.py"))


@pytest.mark.usefixtures("device")
def test_the_module_whose_backward_made_it_is_named(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), rare.Root(), nn.Linear(4, 2))
    model.forward = lambda given, rare: model[2](model[1](model[0](given), rare))  # type: ignore[method-assign]
    (failure,) = _train(tmp_path, model, on_nan="keep")
    assert failure[0] == "Module.1.Root.forward.0" and "the gradients that it was given are not held on a device" in failure[2]


@pytest.mark.usefixtures("device")
def test_raise_raises_before_the_optimizer(tmp_path: Path) -> None:
    with pytest.raises(tensortap.NotFinite, match="NaN in output 0"):
        _train(tmp_path, rare.Model(), on_nan="raise")
