"""The switches of SGLang's shape profiler are obeyed, and its files written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import reading
import torch
from torch import nn

import tensortap
from tensortap._config.settings import SettingsError, settings

ON = {"SGLANG_PROFILE_SHAPES": "1"}


def _logged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, passes: int, **switches: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Lines and summary of so many passes of a small model."""
    monkeypatch.setenv("SGLANG_PROFILE_SHAPES", "1")
    for name, value in {"FILE": str(tmp_path / "log.jsonl"), **switches}.items():
        monkeypatch.setenv(f"SGLANG_PROFILE_SHAPES_{name}", value)
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    batch = torch.ones(4, 3)
    with tensortap.tap(model, run="shapes", spool=tmp_path / "spool"), torch.no_grad():
        for _ in range(passes):
            model(batch)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    return lines, json.loads((tmp_path / "log_summary.json").read_text())


def test_the_log_is_in_the_documented_dialect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines, summary = _logged(monkeypatch, tmp_path, 2)
    linear = next(line for line in lines if line["operation"] == "aten.addmm.default")
    assert list(linear) == ["call_id", "forward_pass", "operation", "inputs", "outputs"]
    assert linear["inputs"] == {
        "self": {"shape": [2], "dtype": "torch.float32"},
        "mat1": {"shape": [4, 3], "dtype": "torch.float32"},
        "mat2": {"shape": [3, 2], "dtype": "torch.float32"},
    }
    assert linear["outputs"] == {"shape": [4, 2], "dtype": "torch.float32"}
    assert [line["call_id"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["forward_pass"] for line in lines} == {1, 2}
    counts = summary["operation_counts"]
    assert counts["aten.addmm.default"] == 2 and list(counts.values()) == sorted(counts.values(), reverse=True)
    assert summary["total_operations"] == len(lines) and summary["unique_operations"] == len(counts)
    assert (summary["rank"], summary["forward_passes"], summary["dedupe_enabled"], summary["dedupe_skipped_count"]) == (0, 2, False, 0)
    assert reading.only(tmp_path / "spool").steps[0].calls  # and the signatures are recorded


def test_equal_ops_are_logged_once_where_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines, summary = _logged(monkeypatch, tmp_path, 50, DEDUPE="1")
    assert {line["forward_pass"] for line in lines} == {1}
    assert len(lines) == summary["unique_op_signatures"]
    assert summary["total_operations"] == 50 * len(lines) == len(lines) + summary["dedupe_skipped_count"]


@pytest.mark.parametrize(("given", "diffusion", "dedupes"), [("", False, False), ("", True, True), ("0", True, False), ("1", False, True)])
def test_a_worker_of_diffusion_logs_equal_ops_once_unless_told(monkeypatch: pytest.MonkeyPatch, given: str, diffusion: bool, dedupes: bool) -> None:
    if diffusion:
        name = "sglang.multimodal_gen.runtime.managers.gpu_worker"
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    log = settings(environment={**ON, "SGLANG_PROFILE_SHAPES_DEDUPE": given}, run="x").shape_log
    assert log and log.dedupe == dedupes


def test_passes_are_left_out_at_both_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines, summary = _logged(monkeypatch, tmp_path, 6, SKIP_WARMUP="2", LOG_N_PASSES="3")
    assert {line["forward_pass"] for line in lines} == {3, 4, 5} and lines[0]["call_id"] == 1
    assert summary["forward_passes"] == 6


def test_an_op_that_raises_is_logged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {**ON, "SGLANG_PROFILE_SHAPES_FILE": str(tmp_path / "log.jsonl")}.items():
        monkeypatch.setenv(name, value)
    model = nn.Linear(3, 2)
    with tensortap.tap(model, run="shapes", spool=tmp_path / "spool"), pytest.raises(RuntimeError) as raised, torch.no_grad():
        model(torch.ones(4, 5))
    last = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert last["outputs"] is None and last["inputs"]["mat1"]["shape"] == [4, 5]
    assert last["error"] == {"error_type": "RuntimeError", "error_message": str(raised.value)}


def test_only_the_asked_rank_logs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _logged(monkeypatch, tmp_path, 1, RANK="3")


def test_a_file_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError):
        _logged(monkeypatch, tmp_path, 1, FILE=str(tmp_path / "no folder" / "log.jsonl"))
    assert "the log of shapes ends here: write" in capsys.readouterr().err
    assert reading.only(tmp_path / "spool").steps[0].calls


def test_the_switch_chooses_the_level_unless_one_is_given() -> None:
    environment = {**ON, "TENSORTAP_SPOOL": "/spool"}
    assert settings(environment=environment, run="r").level == "aten"
    other = settings(environment=environment, run="r", level="L0")
    assert (other.level, other.shape_log) == ("L0", None) and "level aten" in other.differences[0]
    assert settings(environment={**environment, "SGLANG_PROFILE_SHAPES": "0"}, run="r").level == "L0"


def test_a_switch_that_is_no_number_is_an_error() -> None:
    with pytest.raises(SettingsError, match="SGLANG_PROFILE_SHAPES_RANK: 'first' is no whole number"):
        settings(environment={**ON, "SGLANG_PROFILE_SHAPES_RANK": "first"}, run="r")
