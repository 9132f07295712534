"""`make gpu` is one command for a machine with a GPU; here some of its checks run in Triton's interpreter, so that they keep working."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

BENCH = Path(__file__).parents[1] / "bench"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(BENCH.parent / "src"), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([sys.executable, str(BENCH / "gpu.py"), *arguments], env=environment, capture_output=True, text=True, timeout=1800)


def test_the_checks_run_in_an_interpreter(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="no Triton here")
    done = _run("--dry", "--short", str(tmp_path / "page.md"))
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "page.md").read_text()
    for name in ("two dtypes", "inference mode"):
        assert [line.endswith("| as it must be |") for line in page.splitlines() if line.startswith(f"| {name}")] == [True], page
    (price,) = (line.split(" | ") for line in page.splitlines() if line.startswith("| statistics |"))
    assert price[2] == "1.0", "launches of a tensor"


def test_what_it_costs_is_measured_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU, with a small model; what asks a GPU for its memory is answered."""
    monkeypatch.syspath_prepend(str(BENCH))
    import gpu_overhead

    monkeypatch.setattr(gpu_overhead, "DEVICE", "cpu")
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    for name in ("max_memory_allocated", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda: 1 << 20)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (1 << 20, 1 << 20))
    monkeypatch.setattr(gpu_overhead, "_MOST_PAIRS", 3)
    shape = gpu_overhead.Shape(hidden=32, heads=4, shared=2, inner=48)
    found = list(gpu_overhead.costs(0, shape, (16,)))
    assert [cost.mode for cost in found] == [*gpu_overhead.MODES] * 2 and {cost.layers for cost in found} == {1}
    assert all(len(cost.pairs.recorded) == len(cost.pairs.plain) == 3 and cost.pairs.ratio() > 0 for cost in found)
    tensors = [cost.tensors for cost in found]
    assert tensors[0] == 0 and tensors[1] < tensors[3] == tensors[4], "of armed, L0, mix, and mix with more"


def test_without_a_gpu_the_page_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = _run(str(page))
    assert done.returncode == 2 and "No GPU" in page.read_text()
