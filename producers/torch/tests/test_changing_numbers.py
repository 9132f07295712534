"""Numbers among arguments that are others in each step: the definitions of a process do not grow with its steps."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import reading
import torch
from torch import nn

import tensortap

KINDS = {"foreach": {"foreach": True}, "fused": {"fused": True}, "single": {"foreach": False}}
MANY = range(6, 60)


def _train(spool: Path, level: str, kind: str, steps: int) -> list[int]:
    """Trains with a schedule and a scaler of losses; the bytes of definitions after each step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, **KINDS[kind])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.99**step)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
    sizes = []
    with tensortap.tap(model, run="changing", level=level, spool=spool):
        for _ in range(steps):
            scaler.scale(model(torch.randn(2, 4)).square().mean() * scaler.get_scale()).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            optimizer.zero_grad()
            sizes.append(next(spool.glob("*/definitions")).stat().st_size)
    return sizes


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_step_of_a_training_makes_definitions_once_it_runs(level: str, kind: str, tmp_path: Path) -> None:
    sizes = _train(tmp_path, level, kind, 40)
    assert len(set(sizes[5:])) == 1, sizes


def _given(tmp_path: Path, *values: object) -> list[tuple[str, str, str]]:
    """Kind, dtype and literal of arguments, as they are read from the spool."""
    model = nn.Sequential(_Takes())
    with tensortap.tap(model, run="given", spool=tmp_path):
        for value in values:
            model(value)
    found = [value for step in reading.only(tmp_path).steps for value in step.values if value.role == "input"]
    return [(value.layout["kind"], value.layout["dtype"], value.layout["literal"]) for value in found]


class _Takes(nn.Module):
    def forward(self, value: object) -> object:
        """Whatever it is given."""
        return value


def test_numbers_are_told_apart_by_kind_and_to_the_last_bit(tmp_path: Path) -> None:
    wide = 2**63
    values = (1, 1.0, True, 0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 0.1 + 0.2, 1e16, 1e-5, wide - 1, -wide, wide, -wide - 1, 2**70)
    assert _given(tmp_path, *values) == [
        ("int", "", "1"),
        ("float", "", "1.0"),
        ("bool", "", "true"),
        ("float", "", "0.0"),
        ("float", "", "-0.0"),
        ("float", "", "Infinity"),
        ("float", "", "-Infinity"),
        ("float", "", "NaN"),
        ("float", "", "5e-324"),
        ("float", "", "0.30000000000000004"),
        ("float", "", "1e+16"),
        ("float", "", "1e-05"),
        *(("int", "", str(value)) for value in values[-5:]),
    ]


def test_numbers_of_numpy_keep_their_type_and_make_no_definitions(tmp_path: Path) -> None:
    values = [kind(at) for at in MANY for kind in (np.float64, np.float32, np.int32)]
    assert _given(tmp_path, *values)[:3] == [("float", "", "6.0"), ("float", "float32", "6.0"), ("int", "int32", "6")]
    kept = [one for one in reading.only(tmp_path).definitions if one["d"] == "layout" and one["kind"] in ("int", "float")]
    assert len(kept) == 3


def test_a_long_double_is_a_float_though_it_has_no_plainer_form(tmp_path: Path) -> None:
    assert _given(tmp_path, np.longdouble(1.5), np.clongdouble(2))[:2] == [("float", "longdouble", "1.5"), ("other", "numpy.clongdouble", "")]


def test_a_number_is_one_record(tmp_path: Path) -> None:
    _given(tmp_path, 3, 0.5)
    rows = [row for kind, row in reading.only(tmp_path).rows if kind == "number"]
    assert {row[2:4] for row in rows} == {(3, 0.0), (0, 0.5)}
