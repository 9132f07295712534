"""An object that many modules of a step are given, as SGLang's ForwardBatch, is written once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from weakref import ref

import pytest
import torch
from torch import Tensor, nn

import reading
import tensortap


@dataclass
class Batch:
    """What an engine knows of a step."""

    positions: Tensor
    mode: str
    lengths: list[int]


class Layer(nn.Module):
    def __init__(self, does: Callable[[Batch], object]) -> None:
        super().__init__()
        self.does = does

    def forward(self, x: Tensor, batch: Batch) -> tuple[Tensor, Batch]:
        self.does(batch)
        return x + 1, batch


class Model(nn.Module):
    def __init__(self, does: Callable[[Batch], object]) -> None:
        super().__init__()
        self.first, self.second = Layer(does), Layer(does)

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        made: Tensor = self.second(self.first(x, batch)[0], batch=batch)[0]
        return made


def inputs(folder: Path, does: Callable[[Batch], object] = lambda batch: None, steps: int = 1) -> list[list[tuple[str, str]]]:
    """For each step the op and path of all that modules were given but their first tensor."""
    model = Model(does)
    with torch.inference_mode(), tensortap.tap(model, run="batches", level="L0", spool=folder) as tap:
        for _ in range(steps):
            model(torch.ones(2), Batch(torch.arange(2), "decode", [1, 2]))
            tap.step()
    found = reading.only(folder).steps
    return [[(value.op.split(".")[1], value.path) for value in step.values if value.role != "output" and value.path != "0"] for step in found]


WHOLE = ["positions", "mode", "lengths.0", "lengths.1"]


def test_it_is_written_at_the_first_module_of_each_step(tmp_path: Path) -> None:
    once = [*(("first", f"1.{member}") for member in WHOLE), ("second", "batch")]
    assert inputs(tmp_path, steps=2) == [once, once]


def test_the_next_says_so(tmp_path: Path) -> None:
    inputs(tmp_path)
    values = [value for value in reading.only(tmp_path).steps[0].values if value.path == "batch"]
    assert [(v.layout["kind"], v.layout["dtype"], v.layout["literal"]) for v in values] == [("other", f"{__name__}.Batch", "as before in this step")]


def test_a_member_that_was_replaced_is_written_again(tmp_path: Path) -> None:
    def replace(batch: Batch) -> None:
        batch.positions = batch.positions + 1

    assert inputs(tmp_path, replace)[0][len(WHOLE) :] == [("second", "batch"), ("second", "batch.positions")]


def _twice(batch: Batch) -> None:
    """What is made second may get the memory of what there was first."""
    for _ in range(2):
        batch.positions = batch.positions + 1


def _another_list(batch: Batch) -> None:
    batch.lengths = []
    batch.lengths = [1, 2]


@pytest.mark.parametrize(("does", "replaced"), [(_twice, ["positions"]), (_another_list, ["lengths.0", "lengths.1"])])
def test_what_has_the_id_of_a_former_member_is_another(does: Callable[[Batch], None], replaced: list[str], tmp_path: Path) -> None:
    again = [("second", "batch"), *(("second", f"batch.{member}") for member in replaced)]
    assert inputs(tmp_path, does)[0][len(WHOLE) :] == again


def test_nothing_is_kept_of_an_object_that_is_gone(tmp_path: Path) -> None:
    model, batch = Model(lambda batch: None), Batch(torch.arange(2), "decode", [])
    held = ref(batch.positions)
    batch.lengths.append(batch.positions)  # type: ignore[arg-type]
    with torch.inference_mode(), tensortap.tap(model, run="batches", level="L0", spool=tmp_path):
        model(torch.ones(2), batch)
        del batch
        assert held() is None


def test_a_class_is_no_object_of_it(tmp_path: Path) -> None:
    with tensortap.tap(model := Model(lambda batch: None), run="batches", level="L0", spool=tmp_path):
        model(torch.ones(2), Batch)  # type: ignore[arg-type]
    values = [value for value in reading.only(tmp_path).steps[0].values if value.layout["kind"] == "other"]
    assert {(value.layout["dtype"], value.layout["literal"]) for value in values} == {("builtins.type", "")}


def test_what_is_returned_is_always_written(tmp_path: Path) -> None:
    inputs(tmp_path)
    outputs = [value.path for value in reading.only(tmp_path).steps[0].values if value.role == "output" and value.op.startswith("Module.second")]
    assert outputs == ["0", *(f"1.{member}" for member in WHOLE)]
