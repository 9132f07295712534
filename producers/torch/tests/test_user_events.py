"""What a program says of itself by save, note and timer: rows with step, op and request, and nothing where nothing is tapped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

import tensortap
from tensortap._record.served_requests import Request


def _told(spool: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for path in sorted(spool.glob("*.logging")) for line in path.read_text().splitlines()]
    return [line for line in lines if "k" in line]


class Noting(nn.Module):
    """Notes as it is called."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Note, and pass on."""
        tensortap.note(norm=float(x.sum()))
        return x


def test_nothing_happens_where_nothing_is_tapped(tmp_path: Path) -> None:
    tensortap.note(loss=1.0)
    tensortap.save("x", torch.ones(1))
    with tensortap.timer("load"):
        pass
    with tensortap.tap(nn.Linear(1, 1), run="off", spool=tmp_path, enabled=False):
        tensortap.note(loss=1.0)
    assert list(tmp_path.iterdir()) == []


def test_notes_have_step_and_op_and_numbers_apart_from_texts(tmp_path: Path) -> None:
    model = nn.Sequential(Noting())
    with tensortap.tap(model, run="noted", spool=tmp_path):
        tensortap.note(seed=7)
        model(torch.ones(2))
        tensortap.note(loss=0.5, phase="warm")
        model(torch.ones(2))
    early, within, after, second = _told(tmp_path)
    assert (early["k"], early["v"], early["s"], "o" in early) == ("note", {"seed": "7"}, -1, False)
    assert (within["v"], within["s"], within["o"]) == ({"norm": "2.0"}, 0, "Module.0.Noting.forward.0")
    assert (after["v"], after["e"], after["s"], "o" in after) == ({"loss": "0.5"}, {"phase": "warm"}, 0, False)
    assert second["s"] == 1 and early["t"] <= within["t"] <= after["t"] <= second["t"]


def test_a_timer_is_a_number_of_seconds_whatever_happens_within(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="timed", spool=tmp_path):
        model(torch.ones(1, 1))
        with tensortap.timer("outer"), pytest.raises(ValueError, match="bad"):
            with tensortap.timer("inner"):
                raise ValueError("bad")
    inner, outer = _told(tmp_path)
    assert inner["k"] == outer["k"] == "timer" and inner["e"] == {"raised": "ValueError"}
    assert 0 < float(inner["v"]["inner"]) < float(outer["v"]["outer"])


class Hostile:
    """Has no text."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_any_value_is_kept_as_a_number_or_as_a_text(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    values: dict[str, Any] = {
        "nan": float("nan"), "inf": float("inf"), "down": -float("inf"), "yes": True, "numpy": numpy.float32(0.5), "tensor": torch.tensor(2.5),
        "long": 10**400, "short": 2**63, "none": None, "shape": (2, 3), "many": torch.ones(2, 3), "hostile": Hostile(), "halved": "\ud800", "": "empty",
        "ключ\n\0'\"{}": "值", "x" * 1000: "cut", "text": "y" * (1 << 20), "complex": 1j, "meta": torch.ones(1, device="meta"),
    }  # fmt: skip
    with tensortap.tap(model, run="any", spool=tmp_path):
        model(torch.ones(1, 1))
        tensortap.note(**values)
        tensortap.note(**{f"field {number}": "z" * 4096 for number in range(1000)})
    told, many = _told(tmp_path)
    numbers = {name: float(text) for name, text in told["v"].items()}
    assert numbers.pop("nan") != 0 and numbers["inf"] == float("inf") and numbers["down"] == -float("inf")
    assert (numbers["yes"], numbers["numpy"], numbers["tensor"], numbers["short"]) == (1, 0.5, 2.5, 2.0**63)
    texts = told["e"]
    assert texts["none"] == "None" and texts["shape"] == "(2, 3)" and texts["complex"] == "1j" and texts[""] == "empty"
    assert texts["many"] == "float32[2, 3] on cpu" and texts["meta"] == "float32[1] on meta"
    assert texts["ключ\n\0'\"{}"] == "值" and "Hostile" in texts["hostile"] and "1329 bits" in texts["long"]
    assert max(map(len, texts)) < 300 and len(texts["text"]) < (64 << 10) + 2
    assert len(json.dumps(many)) < 1 << 20 and "872 more" in many["e"]["…"]


def test_a_note_changes_nothing_of_what_is_recorded(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="neutral", spool=tmp_path, level="L1"):
        model(torch.ones(1, 1))
        tensortap.note(loss=torch.tensor(1.5), size=torch.ones(3))
        definitions = b"".join(path.read_bytes() for path in tmp_path.glob("*/definitions"))
    assert b"Tensor.item" not in definitions and b"linear" in definitions


def test_a_note_names_the_request(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="served", spool=tmp_path) as tap:
        tap.start()
        tap.facts = replace(tap.facts, served=(Request("r-1", "decode", 1),))
        tensortap.note(length=3)
        tensortap.note(length=3, rid="r-7")
        tap.facts = replace(tap.facts, served=(Request("r-1", "decode", 1), Request("r-2", "decode", 1)))
        tensortap.note(length=3)
    assert [told.get("r", "") for told in _told(tmp_path)] == ["r-1", "r-7", ""]


def test_saved_tensors_are_rows_of_their_step_and_begin_none_that_would_not_begin(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tensortap.tap(model, run="saved", spool=tmp_path) as tap:
        for _ in range(3):
            tensortap.save("batch", torch.ones(1, 2))
            loss = model(torch.ones(1, 2)).sum()
            tensortap.save("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert tap._steps.number == 2
        assert tap._boundaries._explicit is False
    definitions = b"".join(path.read_bytes() for path in tmp_path.glob("*/definitions"))
    for name in (b"batch.0.debug", b"loss.0.debug", b"loss_grad.0.debug"):
        assert name in definitions


def test_what_is_saved_where_no_step_can_be_is_counted(tmp_path: Path) -> None:
    from tensortap._session.session import Session
    from tensortap._config.settings import settings

    with Session(settings(run="served", spool=tmp_path), nn.Linear(1, 1), automatic=False, forwards_begin=False) as tap:
        tensortap.save("x", torch.ones(1))
        assert [count[0] for count in tap._unseen.drain()] == ["saved outside of a step"]


def test_each_tap_hears_and_none_after_its_end(tmp_path: Path) -> None:
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    with tensortap.tap(first, run="one", spool=tmp_path / "1"), tensortap.tap(second, run="two", spool=tmp_path / "2"):
        first(torch.ones(1, 1))
        second(torch.ones(1, 1))
        tensortap.note(a=1)
    tensortap.note(a=2)
    for spool in ("1", "2"):
        assert [told["v"] for told in _told(tmp_path / spool)] == [{"a": "1"}]


def test_what_the_page_shows_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "logs.md").read_text()
    shown = page.partition("```python\n")[2].partition("```")[0]
    model = nn.Linear(8, 1)
    with tensortap.tap(model, run="shown", spool=tmp_path):
        model(torch.ones(1, 8))
        exec(compile(shown, "docs/logs.md", "exec"), {"torch": torch})  # noqa: S102 - of this repository
    assert [told["k"] for told in _told(tmp_path)] == ["note", "timer"]
    assert b"batch.0.debug" in b"".join(path.read_bytes() for path in tmp_path.glob("*/definitions"))


_BELOW_RUN = """
import os, tensortap, torch
from torch import nn
tensortap.note(before="all")
model = nn.Linear(1, 1)
model(torch.ones(1, 1))
tensortap.note(after="all")
child = os.fork()
if not child:
    tensortap.note(of="a child without a model")
    os._exit(0)
os.waitpid(child, 0)
"""


def test_below_run_what_is_said_before_the_model_is_there_is_kept(tmp_path: Path) -> None:
    boot = Path(__file__).parents[1] / "boot"
    environment = {
        **os.environ, "TENSORTAP_ATTACH": "1", "TENSORTAP_RUN": "attached", "TENSORTAP_SPOOL": str(tmp_path), "TENSORTAP_SERVED": "1",
        "PYTHONPATH": os.pathsep.join((str(boot), os.environ["PYTHONPATH"])),
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", _BELOW_RUN], check=True, env=environment, timeout=300)
    assert [told["e"] for told in _told(tmp_path)] == [{"before": "all"}, {"after": "all"}]
