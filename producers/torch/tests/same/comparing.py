"""Runs the programs with the collector and without, and says what differs. As a program: writes docs/same.md."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LEVELS = ("L0", "L1", "mix", "aten")
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
_CHANGES = (  # between two runs without the collector
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    (re.compile(r"(?m)^[WEI]\d{4} [\d:.]+ \d+ "), "W "),
    (re.compile(r"(?m)^(USDT|ERROR|INFO|STAGE|WARNING):\d{4}-.*\n"), ""),
    (re.compile(r"(?m)^tensortap: rank \d+: .*\n"), ""),  # our notices
)
_CHANGING_FILES = frozenset(("old.pt", "optimizer.pickle", "scripted.pt"))  # storages are named by their addresses there


def run(folder: Path, level: str, names: list[str]) -> None:
    """Run programs into a folder; without a level, without the collector."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("TENSORTAP_", "PYTEST"))}
    variables["OMP_NUM_THREADS"] = "1"
    variables.pop("PYTHONPATH", None)
    if level:
        variables |= {"TENSORTAP_ATTACH": "1", "TENSORTAP_RUN": "same", "TENSORTAP_LEVEL": level, "TENSORTAP_SPOOL": f"{folder}.spool"}
        variables["PYTHONPATH"] = os.pathsep.join((str(ROOT / "boot"), str(ROOT / "src")))
    folder.mkdir(parents=True)
    with (folder.parent / f"{folder.name}.log").open("w") as log:
        subprocess.run([sys.executable, str(HERE / "run.py"), str(folder), *names], env=variables, stdout=log, stderr=log, check=True)


def without_and_with(folder: Path, level: str, names: list[str]) -> tuple[Path, Path]:
    """The folders of both runs, at the same time."""
    folders = folder / "without", folder / level
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda one: run(one, "" if one is folders[0] else level, names), folders))
    return folders


def run_programs() -> list[str]:
    """The names of all programs."""
    return [name.replace("_", " ").strip() for file in ("around", "models", "training") for name in re.findall(r"(?m)^@program\ndef (\w+)", (HERE / f"{file}.py").read_text())]


def differences(without: Path, recorded: Path, name: str) -> str:
    """What differs in the end of a program, or in what it printed or saved; empty where nothing does."""
    found = []
    statuses = [json.loads((folder / "statuses.json").read_text())[name] for folder in (without, recorded)]
    if statuses[0] != statuses[1]:
        found.append(f"status {statuses[0]} became {statuses[1]}")
    for ending in ("out", "err"):
        lines = [_printed(folder / f"{name}.{ending}") for folder in (without, recorded)]
        if lines[0] != lines[1]:
            at = next((at for at, pair in enumerate(zip(*lines, strict=False)) if pair[0] != pair[1]), min(map(len, lines)))
            found.append(f"{ending} line {at + 1}: " + " became ".join(repr((one[at : at + 1] or ["nothing"])[0][:300]) for one in lines))
    saved = [_saved(folder / name) for folder in (without, recorded)]
    if saved[0] != saved[1]:
        found.append("saved " + ", ".join(sorted(path for path in saved[0].keys() | saved[1].keys() if saved[0].get(path) != saved[1].get(path))))
    return "; ".join(found)


def _printed(path: Path) -> list[str]:
    text = path.read_text(errors="replace")
    return functools.reduce(lambda known, change: change[0].sub(change[1], known), _CHANGES, text).splitlines()


def _saved(folder: Path) -> dict[str, str]:
    """Checksums of the files; of those that change the sizes, and whether they name the collector."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            changes = path.name in _CHANGING_FILES
            found[str(path.relative_to(folder))] = f"names us: {b'tensortap' in content}" if changes else hashlib.sha256(content).hexdigest()
    return found


def rows_of(page: str) -> dict[str, dict[str, str]]:
    """The page's table: by program and level, `same` or a reason."""
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines() if line.startswith("|")]
    return {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[2:]}


def write_page(page: Path, folder: Path) -> None:
    """Run all, and write the table; reasons that are known stay, and a new difference is written as it was found."""
    text = page.read_text(encoding="utf-8")
    known, names = rows_of(text), run_programs()
    run(folder / "without", "", [])
    for level in LEVELS:
        run(folder / level, level, [])
    lines = ["| program | " + " | ".join(LEVELS) + " |", "|---" * (len(LEVELS) + 1) + "|"]
    for name in names:
        cells = []
        for level in LEVELS:
            differs = differences(folder / "without", folder / level, name)
            before = known.get(name, {}).get(level, "same")
            cells.append("same" if not differs else before if before != "same" else f"differs: {differs}".replace("|", "/")[:400])
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    begin = text.index("\n| program |") + 1
    rest = text[begin:].partition("\n\n")[2]
    page.write_text(text[:begin] + "\n".join(lines) + "\n" + (f"\n{rest}" if rest else ""), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        write_page(Path(sys.argv[1]), Path(scratch))
