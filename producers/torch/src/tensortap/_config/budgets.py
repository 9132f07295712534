"""What a tap may take, as `2%,20GB`: a share of the program's time, bytes of raw tensors, or both."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGTP]?)(i?)B")
_POWERS: Final = " KMGTP"


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """None where nothing is said of it."""

    share: float | None = None  # of the program's time
    payload_bytes: int | None = None  # of raw tensors, of each rank


def parse(value: object) -> Budgets:
    """Read a share, as 2% or 0.02, a size, as 20GB or 500MiB, or a list of one of each. Raises TypeError or ValueError."""
    shares: list[float] = []
    sizes: list[int] = []
    for part in _parts(value):
        size = _bytes(part) if isinstance(part, str) else None
        if size is None:
            shares.append(_share(part))
        else:
            sizes.append(size)
    if len(shares) > 1 or len(sizes) > 1:
        raise ValueError(f"{value!r}: give one share of the time and one size of raw tensors at most, as 2%,20GB")
    return Budgets(share=shares[0] if shares else None, payload_bytes=sizes[0] if sizes else None)


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
