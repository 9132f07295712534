"""Values of settings, from texts of variables or as they are given. Each raises TypeError or ValueError that says what it may be."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from tensortap._config.spool_root import at_home


def nearest(name: str, known: Iterable[str]) -> str:
    """Words that point to the known name that is most like this one."""
    names = sorted(known)
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"do you mean {found[0]}?" if found else f"known are {', '.join(names)}"


def text(value: object) -> str:
    """As it is."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def number(value: object) -> int:
    """A whole one."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{value!r} is no whole number")
    return int(value)


def seconds(value: object) -> float:
    """Of 5s, 5 or 0.5."""
    if isinstance(value, bool) or not isinstance(value, str | float | int):
        raise TypeError(f"{value!r} is no number of seconds")
    return float(value.removesuffix("s") if isinstance(value, str) else value)


def yes(value: object) -> bool:
    """Of true, yes, on and 1, and their contraries."""
    if isinstance(value, bool):
        return value
    answers = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if isinstance(value, str) and value.lower() in answers:
        return answers[value.lower()]
    raise TypeError(f"{value!r} is neither true nor false")


def texts(value: object) -> tuple[str, ...]:
    """Of a list, or of names with commas between."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Iterable):
        return tuple(text(part) for part in value)
    raise TypeError(f"{value!r} is no list of names")


def pair(value: object) -> tuple[str, str]:
    """Two names."""
    names = texts(value)
    if len(names) != 2:
        raise ValueError(f"needs the name of the first op and that of the last, has {len(names)} names")
    return names[0], names[1]


def labels(value: object) -> dict[str, str]:
    """Of a mapping, or of key=value with commas between."""
    if isinstance(value, Mapping):
        return {str(key): str(text) for key, text in value.items()}
    parts = [part.partition("=") for part in texts(value)]
    if wrong := [key for key, equals, _ in parts if not equals]:
        raise ValueError(f"{wrong[0]!r} has no value: write key=value,key=value")
    return {key: text for key, _, text in parts}


def path(value: object) -> Path:
    """Where ~ is the user's home."""
    return at_home(os.fspath(cast(str, value)), os.environ)
