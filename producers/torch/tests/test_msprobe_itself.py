"""msProbe itself beside ours, on one script with one config.json: the same ops of the same steps, with the same arguments.

Runs where TENSORTAP_MSPROBE names msProbe's executable; `make msprobe` installs one. Once the last op
of a scope has its inputs, msProbe records no more: no output of it and of what encloses it, nothing inside it. Ours are whole.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.reading import only

SCRIPT = Path(__file__).with_name("migrated.py")
MSPROBE = os.environ.get("TENSORTAP_MSPROBE", "")
SECTIONS = {"input_args": "input", "input_kwargs": "kwarg", "input": "input", "output": "output", "parameters": "parameter"}
FIRST, LAST = "Functional.silu.0.forward", "Functional.linear.4.forward"

Steps = dict[int, dict[str, set[str]]]

pytestmark = pytest.mark.skipif(not MSPROBE, reason="TENSORTAP_MSPROBE does not name msProbe's executable; make msprobe installs one")


def run(folder: Path, package: str, config: dict[str, Any]) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({"task": "statistics", "dump_path": str(folder / "dump"), "risk_level": "ALL", **config}))
    environment = {**os.environ, "TENSORTAP_SPOOL": str(folder / "spool"), "PYTHONPATH": str(SCRIPT.parents[1] / "src")}
    python = Path(MSPROBE).parent / "python"
    done = subprocess.run([python, SCRIPT, package, path], env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def _is_beyond(op: str) -> bool:
    return op.startswith(("Loss.", "Optimizer."))


def theirs(folder: Path) -> Steps:
    """The roles recorded of each op, by step, as msProbe wrote them."""
    steps: Steps = {}
    for path in sorted((folder / "dump").glob("step*/rank0/dump.json")):
        ops = json.loads(path.read_text())["data"]
        steps[int(path.parts[-3][4:])] = {
            name: {SECTIONS.get(section, "parameter_gradient") for section, values in op.items() if values} for name, op in ops.items()
        }
    return {number: ops for number, ops in steps.items() if ops}


def ours(folder: Path) -> Steps:
    """The roles recorded of each op, by step, from the spool, but for what msProbe has no op for and exports leave out."""
    steps: Steps = {}
    for step in only(folder / "spool").steps:
        ops: dict[str, set[str]] = {name: set() for name in step.completed if not _is_beyond(name)}
        for value in step.values:
            if value.op in ops:
                ops[value.op].add(value.role)
        steps[step.number] = ops
    return {number: ops for number, ops in steps.items() if ops}


CONFIGS: dict[str, dict[str, Any]] = {
    "mix": {"level": "mix"},
    "L0": {"level": "L0", "step": [1]},
    "L1 with its own risk level": {"level": "L1", "risk_level": "FOCUS"},
    "scope of APIs": {"level": "L1", "statistics": {"scope": [FIRST, LAST]}},
    "scope of modules": {
        "level": "mix",
        "statistics": {"scope": ["Module.layers.1.Mixer.forward.0", "Module.layers.2.up.Linear.forward.0"]},
    },
    "list at mix": {"level": "mix", "statistics": {"list": ["layers.1.Mixer", "softmax"]}},
    "list at L0": {"level": "L0", "statistics": {"list": ["layers.1."]}},
    "list inside scope": {"level": "L1", "statistics": {"scope": [FIRST, LAST], "list": ["linear"]}},
    "forward inputs": {"level": "mix", "statistics": {"data_mode": ["forward", "input"]}},
    "backward": {"level": "mix", "statistics": {"data_mode": ["backward"]}},
    "output": {"level": "L1", "statistics": {"data_mode": ["output"]}},
}


WHOLE = {
    "scope of APIs": {LAST},
    "list inside scope": {LAST},
    "scope of modules": {"Module.layers.2.up.Linear.forward.0", "Functional.linear.4.forward", "Module.layers.2.Mixer.forward.0"},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_same_ops_are_recorded_with_the_same_arguments(name: str, tmp_path: Path) -> None:
    for package in ("msprobe.pytorch", "tensortap"):
        run(tmp_path, package, CONFIGS[name])
    agree(ours(tmp_path), theirs(tmp_path), WHOLE.get(name, set()))


def agree(found: Steps, wanted: Steps, whole: set[str]) -> None:
    """Ours are theirs, but for those that are whole."""
    assert list(found) == list(wanted) == sorted(wanted) and wanted
    for step, ops in wanted.items():
        assert all(ops.get(op, set()) <= found[step][op] for op in whole)
        rest = [{op: roles for op, roles in side.items() if op not in whole} for side in (found[step], ops)]
        assert rest[0] == rest[1]
