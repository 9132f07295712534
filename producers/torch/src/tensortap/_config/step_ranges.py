"""Which steps are wanted: a small set of ranges, written 0,3-5,10-100/10."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_PART: Final = re.compile(r"(\d+)(?:-(\d*))?(?:/(\d+))?")
_ENDLESS: Final = 1 << 62


@dataclass(frozen=True)
class Steps:
    """A set of step numbers; ranges None means every step."""

    ranges: tuple[range, ...] | None = None

    def __call__(self, step: int) -> bool:
        return self.ranges is None or any(step in part for part in self.ranges)

    def over(self, step: int) -> bool:
        """Whether no step after this one is wanted."""
        return self.ranges is not None and all(not part or part[-1] <= step for part in self.ranges)

    def __str__(self) -> str:
        return "all" if self.ranges is None else ",".join(_shown(part) for part in self.ranges)


def parse_steps(given: object) -> Steps:
    """Read None (all), a number, a range, text like "0,3-5,10-100/10" or "10-/5", or a list of these.

    Raises ValueError that names the part that cannot be read.
    """
    match given:
        case Steps():
            return given
        case None:
            return Steps()
        case _:
            ranges = tuple(_ranges(given))
            return Steps(ranges or None)


def _ranges(given: object) -> Iterable[range]:
    if isinstance(given, bool):
        raise ValueError(f"{given} is no step")
    if isinstance(given, int):
        return [_from(given, given + 1, 1)]
    if isinstance(given, range):
        return [given]
    if isinstance(given, str):
        return [] if given.strip() in ("", "all") else [_read(part) for part in given.split(",")]
    if isinstance(given, Iterable):
        return [part for item in given for part in _ranges(item)]
    raise ValueError(f"{given!r} is no step, range of steps or list of them")


def _read(text: str) -> range:
    found = _PART.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no step: write 3, 3-5, 10-100/10 or 10-/5")
    first, last, every = found.groups()
    if last is None and every is None:
        return _from(int(first), int(first) + 1, 1)
    return _from(int(first), int(last) + 1 if last else _ENDLESS, int(every or 1))


def _from(first: int, stop: int, every: int) -> range:
    if first < 0 or stop <= first or every < 1:
        raise ValueError(f"{first}-{stop - 1}/{every} holds no step")
    return range(first, stop, every)


def _shown(part: range) -> str:
    every = f"/{part.step}" if part.step > 1 else ""
    if part.stop == _ENDLESS:
        return f"{part.start}-{every}"
    return f"{part.start}" if len(part) == 1 else f"{part.start}-{part[-1]}{every}"
