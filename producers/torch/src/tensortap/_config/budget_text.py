"""What a tap may take, as `2%,20GB,host=100GB`: a share of the program's time, bytes of raw tensors of a rank and of all of a host."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGTP]?)(i?)B")
_POWERS: Final = " KMGTP"
_HOST: Final = "host="


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """None where nothing is said of it."""

    share: float | None = None  # of the program's time
    payload_bytes: int | None = None  # of raw tensors, of each rank
    payload_host_bytes: int | None = None  # of all ranks of the run that write into one folder


def parse(value: object) -> Budgets:
    """Read a share, as 2% or 0.02, a size, as 20GB, one of all ranks, as host=100GB, or a list of these. Raises TypeError or ValueError."""
    found: dict[str, Any] = {}
    for part in _parts(value):
        kind, budget = _one(part)
        if kind in found:
            raise ValueError(f"{value!r}: give one share of the time and one size of raw tensors at most, as 2%,20GB")
        found[kind] = budget
    return Budgets(**found)


def _one(part: object) -> tuple[str, float]:
    if isinstance(part, str):
        size, of_host = _bytes(part.removeprefix(_HOST)), part.startswith(_HOST)
        if size is not None:
            return "payload_host_bytes" if of_host else "payload_bytes", size
    return "share", _share(part)


def _parts(value: object) -> list[object]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return list(value) if isinstance(value, Iterable) else [value]


def _bytes(text: str) -> int | None:
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    number, prefix, binary = found.groups()
    size = int(float(number) * (1024 if binary else 1000) ** _POWERS.index(prefix.upper() or " "))
    if size < 1:
        raise ValueError(f"{text} is no size of raw tensors: give 1B or more")
    return size


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | float | int):
        raise TypeError(f"{value!r} is neither a share of the time nor a size")
    try:
        share = float(value[:-1]) / 100 if isinstance(value, str) and value.endswith("%") else float(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is neither a share of the time, as 2%, nor a size of raw tensors, as 20GB") from error
    if not 0 < share < 1:
        raise ValueError(f"{value} is no share of the time: give more than 0% and less than 100%, or a size of raw tensors with its unit, as 20GB")
    return share
