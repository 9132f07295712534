"""Sections of a page, each of which another command writes."""

from __future__ import annotations

from pathlib import Path


class Section:
    """The part of a page between two lines that name the command that writes it."""

    def __init__(self, command: str) -> None:
        self._begin, self._end = f"<!-- {command}: begin -->\n", f"<!-- {command}: end -->\n"

    def of(self, page: Path) -> str:
        """The section with its lines; empty where there is none."""
        _, begin, rest = (page.read_text() if page.exists() else "").partition(self._begin)
        return f"{begin}{rest.partition(self._end)[0]}{self._end}" if begin else ""

    def write(self, page: Path, content: str) -> None:
        """In its place; at the end of a page that has none."""
        text, before = page.read_text(), self.of(page)
        section = f"{self._begin}{content}\n{self._end}"
        page.write_text(text.replace(before, section) if before else f"{text.rstrip()}\n\n{section}")


LONG_RUNS = Section("make soak-torch")
NOTES = Section("bench/notes.py")
TOKEN_ROWS = Section("make bench-tokens")
INTERPRETER = Section("make gpu-dry")
