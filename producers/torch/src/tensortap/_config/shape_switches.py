"""The switches of SGLang's shape profiler, which are obeyed here as they are there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

_SWITCH: Final = "SGLANG_PROFILE_SHAPES"
_OF_DIFFUSION: Final = "sglang.multimodal_gen.runtime.managers.gpu_worker"  # whose steps repeat the same ops some fifty times


class Asked(NamedTuple):
    """What the switches ask for."""

    file: str = "shapes.jsonl"
    rank: int = 0  # of tensor parallelism, where there is any
    skip: int = 0  # passes at the beginning
    passes: int = 0  # after those; 0: all
    dedupe: bool = False


def asked(environment: Mapping[str, str]) -> Asked | None:
    """What the environment asks for; None when no log is wanted. Raises ValueError that names the switch."""
    if not _is_on(environment, ""):
        return None
    numbers = {name: _number(environment, switch) for name, switch in (("rank", "_RANK"), ("skip", "_SKIP_WARMUP"), ("passes", "_LOG_N_PASSES"))}
    file = environment.get(_SWITCH + "_FILE") or Asked().file
    return Asked(file=str(Path(file).absolute()), dedupe=_dedupes(environment), **numbers)


def _dedupes(environment: Mapping[str, str]) -> bool:
    """Whether equal lines are left out: as SGLang does where nobody says, in a worker of diffusion and in no other."""
    given = environment.get(_SWITCH + "_DEDUPE", "")
    return _is_on(environment, "_DEDUPE") if given else _OF_DIFFUSION in sys.modules


def _is_on(environment: Mapping[str, str], ending: str) -> bool:
    return environment.get(_SWITCH + ending, "").lower() in ("1", "true", "yes", "on")


def _number(environment: Mapping[str, str], ending: str) -> int:
    text = environment.get(_SWITCH + ending) or "0"
    if not text.isdecimal():
        raise ValueError(f"{_SWITCH}{ending}: {text!r} is no whole number")
    return int(text)
