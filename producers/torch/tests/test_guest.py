"""What the source says of itself where it must take whatever comes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
BROAD = re.compile(r"^\s*except( (Exception|BaseException)\b.*)?:")


def test_who_catches_everything_says_why() -> None:
    lines = [line for folder in ("src", "boot", "stand_in") for path in (ROOT / folder).rglob("*.py") for line in path.read_text().splitlines()]
    broad = [line for line in lines if BROAD.match(line)]
    assert broad and [line for line in broad if "#" not in line] == []
