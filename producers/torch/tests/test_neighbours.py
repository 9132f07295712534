"""How the collector gets on with what else gets into Python processes by itself: the real ones, in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
BOOT = HERE / "boot"
BIN = HERE.parents[1] / ".tools" / "neighbours" / "bin"
LOOK = """
import sys
print('watched' if any(type(f).__module__ == 'tensortap_boot' for f in sys.meta_path) else 'not')
print(*sorted({'opentelemetry', 'ddtrace', 'coverage'} & sys.modules.keys()))
"""
BACKEND = f"""
import os, subprocess, sys, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    with open(os.environ['SEEN'], 'w') as seen:
        subprocess.run([sys.executable, '-c', {LOOK!r}], stdout=seen, check=True)
    with zipfile.ZipFile(os.path.join(folder, 'nothing-1-py3-none-any.whl'), 'w') as wheel:
        wheel.writestr('nothing-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: nothing\\nVersion: 1\\n')
        wheel.writestr('nothing-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: us\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr('nothing-1.dist-info/RECORD', '')
    return 'nothing-1-py3-none-any.whl'
"""
PROJECT = '[project]\nname = "nothing"\nversion = "1"\n[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def below_run(*command: str, **variables: str) -> list[str]:
    """What a command prints that is started as `tensortap run` starts it."""
    assert BIN.exists(), "make neighbours"
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", "PYTHONPATH": os.pathsep.join(map(str, (BOOT, HERE / "src"))), **variables}
    environment["PATH"] = os.pathsep.join([str(BIN), environment["PATH"]])
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_opentelemetry_below_us_hides_us() -> None:
    """Its folder goes first, and its sitecustomize runs no other, as docs/attach.md says."""
    assert below_run("opentelemetry-instrument", "python", "-c", LOOK) == ["not", "opentelemetry"]


def test_plug_ins_of_engines_are_found_below_opentelemetry() -> None:
    """An engine that looks for its plug-ins loads us all the same."""
    look = "from importlib.metadata import entry_points; next(iter(entry_points(group='vllm.general_plugins', name='tensortap'))).load()()"
    assert below_run("opentelemetry-instrument", "python", "-c", look + LOOK) == ["watched", "opentelemetry"]


def test_opentelemetry_above_us_is_chained_to() -> None:
    """`opentelemetry-instrument tensortap run -- …`: its variables are there when ours go before them."""
    inner = f"PYTHONPATH={BOOT}:$PYTHONPATH exec python -c \"$LOOK\""
    assert below_run("opentelemetry-instrument", "bash", "-c", inner, PYTHONPATH="", LOOK=LOOK) == ["watched", "opentelemetry"]


def test_ddtrace_chains_to_us() -> None:
    quiet = {"DD_TRACE_ENABLED": "false", "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false", "DD_REMOTE_CONFIGURATION_ENABLED": "false"}
    assert below_run("ddtrace-run", "python", "-c", LOOK, **quiet) == ["watched", "ddtrace"]


def test_coverage_measures_a_watched_process(tmp_path: Path) -> None:
    config = tmp_path / "coveragerc"
    config.write_text(f"[run]\ndata_file = {tmp_path / 'data'}\n")
    assert below_run("python", "-c", LOOK, COVERAGE_PROCESS_START=str(config)) == ["watched", "coverage"]


@pytest.mark.parametrize(("isolation", "watched"), [((), "not"), (("--no-build-isolation",), "watched")])
def test_a_package_that_pip_builds(isolation: tuple[str, ...], watched: str, tmp_path: Path) -> None:
    """pip gives an isolated build a PYTHONPATH of its own: no model runs there."""
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "backend.py").write_text(BACKEND)
    seen = tmp_path / "seen"
    below_run("python", "-m", "pip", "wheel", "--quiet", *isolation, "-w", str(tmp_path), str(tmp_path), SEEN=str(seen), PIP_NO_INDEX="1")
    assert seen.read_text().split() == [watched]
