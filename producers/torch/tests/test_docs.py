"""docs/collector.md: what it lists is what there is, and what it shows runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tensortap._config import msprobe_file
from tensortap._config.settings import CHOICES, SETTINGS, environment_name
from tensortap._record import unseen

PAGE = Path(__file__).parents[3] / "docs" / "collector.md"


def section(title: str) -> str:
    return PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(title: str) -> list[list[str]]:
    """The names in the first cell of each row of a section's table."""
    rows = [line.split("|")[1] for line in section(title).splitlines() if line.startswith("|")][2:]
    return [re.findall(r"`([^`]+)`", cell) for cell in rows]


def test_every_setting_has_its_row_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", section("Settings"), re.MULTILINE)
    assert sorted(rows) == sorted((name, environment_name(name)) for name in SETTINGS)


def test_every_level_has_its_row() -> None:
    assert [row[0] for row in first_cells("Levels")] == list(CHOICES["level"])


def test_every_reason_has_its_row() -> None:
    assert [row[0] for row in first_cells("What is not seen")] == list(unseen.REASONS)


def test_every_key_of_msprobe_has_its_row_or_is_said_on_stderr() -> None:
    listed = {name for row in first_cells("Coming from msProbe") for name in row}
    known = set(msprobe_file.COMMON_KEYS).union(*msprobe_file.BLOCKS.values())
    blocks_of_other_tasks = {"overflow_nums", "check_mode", "diff_nums", "device"}
    assert known - listed - blocks_of_other_tasks <= set(msprobe_file.DONE_OTHERWISE)


def test_the_shown_code_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    script = tmp_path / "shown.py"
    script.write_text("\n".join(blocks))
    environment = {**os.environ, "TENSORTAP_SPOOL": str(tmp_path / "spool"), "PYTHONPATH": str(PAGE.parents[1] / "producers" / "torch" / "src")}
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    spooled = b"".join(path.read_bytes() for path in (tmp_path / "spool").glob("*/definitions"))
    for name in (b'"first"', b'"dump_problem"', b"Module.2.Linear.forward.0", b"activation.0.debug"):
        assert name in spooled
