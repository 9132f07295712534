"""An installation without the C kernel works, and says what it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import reading

from tensortap._stats import built

RECORD = """
import sys, torch, tensortap
model = torch.nn.Sequential(torch.nn.Linear(3, 1))
with tensortap.tap(model, run="r", spool=sys.argv[1]):
    model(torch.ones(2, 3))
"""


@pytest.fixture(params=["with", "without"])
def package(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a copy of the package in it, with and without the kernel."""
    shutil.copytree(built.KERNEL.parents[len(built.__name__.split(".")) - 2], tmp_path / "tensortap")
    (copy,) = tmp_path.rglob(built.KERNEL.name)
    if request.param == "without":
        copy.unlink()
    return tmp_path


def test_what_is_missing_is_said_at_import_and_in_the_run(package: Path, tmp_path: Path) -> None:
    missing = not list(package.rglob(built.KERNEL.name))
    spool = tmp_path / "spool"
    environment = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run([sys.executable, "-W", "error", "-c", RECORD, str(spool)], cwd=package, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("built without its C kernel") == missing
    said = json.loads(reading.only(spool).definitions[0]["config"])
    assert ("no C kernel" in said.get("statistics", "")) == missing
