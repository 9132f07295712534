"""A file that says which APIs are recorded, in the form of msProbe's support_wrap_ops.yaml: groups, each with a list of names.

A group takes the place of the list that is recorded otherwise; one of names with + or - before them changes that list. Groups that are
not given stay. No YAML is imported: the form is that of two levels, and a program may have none.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

GROUPS: Final[Mapping[str, str]] = {
    "functional": "Functional",
    "tensor": "Tensor",
    "torch": "Torch",
    "_VF": "VF",
}
# Groups of msProbe's file that change nothing here: for devices of its own, and collectives, which are always recorded: they write into tensors unseen.
FOREIGN: Final = ("torch_npu", "aten", "distributed", "npu_distributed", "mindspeed", "mindspeed_custom")
_NAME: Final = re.compile(r"[+-]?[A-Za-z_][\w.]*")
_GROUP: Final = re.compile(r"([A-Za-z_]\w*)\s*:\s*(.*)")


@dataclass(frozen=True)
class ApiList:
    """What a file says of each group of ours."""

    path: Path
    groups: Mapping[str, tuple[str, ...]]

    def change(self, usual: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """The names that are recorded, where these are the usual ones."""
        return {group: _changed(names, self.groups[group]) if group in self.groups else names for group, names in usual.items()}

    def added(self) -> list[tuple[str, str]]:
        """Groups and names of what is to be recorded beside the usual."""
        return [(group, name[1:]) for group, names in self.groups.items() for name in names if name.startswith("+")]


def read(path: Path) -> ApiList:
    """Read a file. Raises ValueError that names it and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"read {path}: {error}") from error
    found: dict[str, tuple[str, ...]] = {}
    for number, group, names in _of_json(path, text) if text.lstrip().startswith("{") else _of_yaml(path, text):
        if group in FOREIGN:
            continue
        if group not in GROUPS:
            raise ValueError(f"read {path}, line {number}: unknown group {group}; {_nearest(group)}")
        if wrong := [name for name in names if not _NAME.fullmatch(name)]:
            raise ValueError(f"read {path}, line {number}: {wrong[0]!r} is no name of an API")
        found[GROUPS[group]] = (*found.get(GROUPS[group], ()), *names)
    return ApiList(path, found)


def _nearest(group: str) -> str:
    near = difflib.get_close_matches(group, GROUPS, n=1, cutoff=0.5)
    return f"do you mean {near[0]}?" if near else f"known are {', '.join(GROUPS)}"


def _changed(usual: list[str], asked: Sequence[str]) -> list[str]:
    plain = [name for name in asked if name[0] not in "+-"]
    only_changes = bool(asked) and not plain
    without = {name[1:] for name in asked if name.startswith("-")}
    names = [*(usual if only_changes else plain), *(name[1:] for name in asked if name.startswith("+"))]
    return [name for name in dict.fromkeys(names) if name not in without]


def _of_json(path: Path, text: str) -> Iterator[tuple[int, str, list[str]]]:
    try:
        groups: Any = json.loads(text)
    except ValueError as error:
        raise ValueError(f"read {path}: {error}") from error
    for group, names in groups.items():
        if not isinstance(names, list):
            raise ValueError(f"read {path}: group {group} is no list of names")
        yield 1, str(group), [str(name) for name in names]


def _of_yaml(path: Path, text: str) -> Iterator[tuple[int, str, list[str]]]:
    group = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.partition("#")[0].strip()
        if not bare or bare in ("---", "..."):
            continue
        begins = _GROUP.fullmatch(bare)
        if begins:
            group, rest = begins.groups()
            yield number, group, _inline(path, number, rest)
        elif bare.startswith("- ") and group:
            yield number, group, [_plain(bare[2:])]
        else:
            raise ValueError(f"read {path}, line {number}: want a group as functional: or a name as - softmax")


def _inline(path: Path, number: int, text: str) -> list[str]:
    """A list in brackets, or none."""
    if not text:
        return []
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"read {path}, line {number}: {text!r} is no list of names")
    return [_plain(name) for name in text[1:-1].split(",") if name.strip()]


def _plain(name: str) -> str:
    return name.strip().strip("\"'")
