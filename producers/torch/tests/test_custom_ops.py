"""A tensor that is met again in a step is read again, unless its content is known to be the same."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asking
import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._record import custom_ops
from tensortap._record.custom_ops import CustomOps
from tensortap._spool import layout

_NAMESPACE = "tensortap_of_others"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.library.Library]:
    """Ops of somebody else, the only ones, which the process forgets afterwards."""
    monkeypatch.setattr(torch.ops, "_dir", [name for name in torch.ops._dir if name in custom_ops.TRUSTED])
    vars(torch.ops).pop(_NAMESPACE, None)  # which the library of another test may have left as it was freed
    made = torch.library.Library(_NAMESPACE, "DEF")
    yield made
    made._destroy()


class _Between(nn.Module):
    """Does something between two modules that one tensor passes through."""

    def __init__(self, between: Any) -> None:
        super().__init__()
        self.first, self.second, self.between = nn.Linear(3, 3), nn.Identity(), between

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.first(x)
        self.between(hidden)
        result: Tensor = self.second(hidden)
        return result


def _second_input(folder: Path, level: Any, between: Any) -> tuple[bool, float, int]:
    """Whether the row of the second module's input was taken over, the greatest value in it, and the number of custom ops."""
    model = _Between(between)
    with tensortap.tap(model, run="custom", level=level, spool=folder):
        model(torch.ones(3))
    (step,) = reading.only(folder).steps
    (row,) = [value for value in step.values if value.op.endswith("second.Identity.forward.0") and value.role == "input"]
    return bool(row.flags & layout.REUSED), max(abs(row.row[4]), abs(row.row[5])), step.unseen.get(("custom op", "tensortap_of_others.clear"), 0)


def _clear(tensor: Tensor) -> None:
    ctypes.memset(tensor.data_ptr(), 0, tensor.nbytes)


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_tensor_into_which_an_op_of_others_wrote_is_read_again(tmp_path: Path, level: Any, library: torch.library.Library) -> None:
    is_reused, greatest, ops = _second_input(tmp_path / "before", level, lambda tensor: None)
    assert is_reused and greatest > 0 and not ops
    library.define("clear(Tensor content) -> ()")  # many do not say that they write
    library.impl("clear", _clear, "CPU")
    assert _second_input(tmp_path / "after", level, lambda tensor: torch.ops.tensortap_of_others.clear(tensor)) == (False, 0.0, level == "mix")


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_its_raw_elements_are_written_again(tmp_path: Path, level: Any, library: torch.library.Library) -> None:
    library.define("clear(Tensor content) -> ()")
    library.impl("clear", _clear, "CPU")
    model = _Between(lambda tensor: torch.ops.tensortap_of_others.clear(tensor))
    with tensortap.tap(model, run="raw", level="L0", spool=tmp_path / "spool") as tap:
        for step in range(2):
            asking.ask(next((tmp_path / "spool").iterdir()), 1, do="capture", level=level, steps=1, folder=str(tmp_path), most_bytes=9999) if step else None
            model(torch.ones(3))
            tap.step()
    kept = {(op, role): location for op, role, _, location, *_ in reading.only(tmp_path / "spool").steps[1].payloads}
    written = [kept["Module.first.Linear.forward.0", "output"], kept["Module.second.Identity.forward.0", "input"]]
    elements = [(tmp_path / location).read_bytes()[-12:] for location in written]
    assert any(elements[0]) and not any(elements[1])


def test_a_process_that_asked_for_no_op_of_others_runs_none(library: torch.library.Library) -> None:
    ops = CustomOps()
    assert not ops.may_run(), torch.ops._dir
    library.define("same(Tensor content) -> Tensor")
    assert not ops.may_run()
    assert torch.ops.tensortap_of_others.same
    assert ops.may_run() and CustomOps().may_run()


_ASKED_BY_TORCH = """
import sys
import torch, torch.distributed as dist
try:
    import torch.distributed.tensor, torch.nn.attention.flex_attention
except ModuleNotFoundError:
    pass  # before PyTorch 2.5
from tensortap._record.custom_ops import CustomOps
ops = CustomOps()
assert torch.ops._c10d_functional.all_reduce
before = ops.may_run()
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
print(before, ops.may_run())
"""


def test_ops_that_torch_itself_asks_for_as_it_is_imported_run_only_in_process_groups(tmp_path: Path) -> None:
    asked = subprocess.run([sys.executable, "-c", _ASKED_BY_TORCH, str(tmp_path / "meet")], capture_output=True, text=True, check=False)
    assert asked.stdout == "False True\n", asked.stderr
