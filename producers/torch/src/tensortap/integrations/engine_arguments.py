"""What an engine was started with, as its own objects have it once it has resolved what it was given. Secrets stay out, and so does what one process has for itself."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Final

import torch

from tensortap._session import of_launch
from tensortap._session.environment import IN_URL, LONGEST_VALUE, SECRET

_OF_ONE_PROCESS: Final = re.compile(r"(^|_)((?<!lora_)rank|gpu_id|local|time|dir)(_|$)|^(_.*|traced_files|hf_text_config|data_parallel_index)$")
_MOST_ARGUMENTS: Final = 1000
_MOST_ITEMS: Final = 64
_DEEPEST: Final = 4
_PLAIN: Final = (bool, int, float)


def of(engine: str, given: object) -> dict[str, object]:
    """Each argument by its name, which begins with the engine's; parts of an argument by a dotted name."""
    return dict(itertools.islice(_arguments(f"{engine} ", given, _DEEPEST), _MOST_ARGUMENTS))


def _arguments(before: str, given: object, depth: int) -> Iterator[tuple[str, object]]:
    for name, value in _members(given):
        if _OF_ONE_PROCESS.search(name) or of_launch.names(name):
            continue
        if depth and any(True for _ in _members(value)):
            if not (isinstance(value, Mapping) and SECRET.search(name)):
                yield from _arguments(f"{before}{name}.", value, depth - 1)
        elif (shown := _shown(value)) is not None and (isinstance(shown, _PLAIN) or not SECRET.search(name)):
            yield f"{before}{name}", shown


def _members(given: Any) -> Iterable[tuple[str, Any]]:
    """The fields of a dataclass or of a struct of msgspec, or what stands under texts in a dictionary."""
    if isinstance(given, Mapping):
        return [(name, value) for name, value in given.items() if isinstance(name, str)]
    names = [field.name for field in dataclasses.fields(given)] if dataclasses.is_dataclass(given) else getattr(type(given), "__struct_fields__", ())
    return [(name, getattr(given, name, None)) for name in names]


def _shown(value: object) -> object:
    """A number, a text or some of them; None for anything else, and where nothing is set."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, str | torch.dtype | torch.device):
        text = of_launch.blanked(IN_URL.sub(r"\1", str(value)))[:LONGEST_VALUE]
        return "…" if text.startswith(("{", "[")) and SECRET.search(text) else text or None
    if isinstance(value, list | tuple | Set):
        shown = [_shown(one) for one in itertools.islice(value, _MOST_ITEMS)]
        return sorted(map(str, shown)) if isinstance(value, Set) else shown if shown and None not in shown else None
    return None
