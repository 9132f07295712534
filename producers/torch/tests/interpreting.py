"""Triton decides when it is imported whether it interprets: tests of its kernels run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest


def is_on() -> bool:
    """Whether this is such a process."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def run_all(file: str) -> None:
    """The tests of the file, in a process that interprets; there, nothing."""
    if is_on():
        return
    triton = pytest.importorskip("triton", reason="no Triton here")
    if triton.__version__.startswith("3.4.") and numpy.__version__ >= "2.4":
        pytest.skip("the interpreter of Triton 3.4 does not run with NumPy 2.4")
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(Path(file).parents[1] / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
