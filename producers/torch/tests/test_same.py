"""Programs of all kinds end in the same way, print the same and leave the same with the collector as without: docs/same.md."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from same.comparing import LEVELS, differences, rows_of, run_programs, without_and_with

DOCS = Path(__file__).resolve().parents[3] / "docs/same.md"
ALL = os.environ.get("TENSORTAP_TEST_SAME") == "all"
# That stand for their kinds where not all are run: what asks for hooks and modes, compiles, copies, fails, warns.
FEW = (
    "transformer encoder in evaluation",
    "multihead attention",
    "scripted models",
    "compiled models",
    "copied models",
    "hooks of the program",
    "tensors that dispatch",
    "modes of the program",
    "a shape that does not fit",
    "an exception that is pickled",
    "warnings and callers",
)


@pytest.fixture(scope="module")
def known() -> dict[str, dict[str, str]]:
    """What the page says, by program and level."""
    return rows_of(DOCS.read_text(encoding="utf-8"))


def test_the_page_has_a_row_for_each_program(known: dict[str, dict[str, str]]) -> None:
    assert list(known) == run_programs()
    assert set(FEW) <= set(known)


@pytest.mark.parametrize("level", LEVELS)
def test_programs_are_the_same_with_the_collector(level: str, known: dict[str, dict[str, str]], tmp_path: Path) -> None:
    names = list(known) if ALL else list(FEW)
    without, recorded = without_and_with(tmp_path, level, names)
    found = {name: differences(without, recorded, name) for name in names}
    assert {name: text for name, text in found.items() if text and known[name][level] == "same"} == {}
    assert [name for name, text in found.items() if not text and known[name][level] != "same"] == [], "the page may say that these are the same"
