"""How long the ranks of a job wait for one of them in a collective."""

from __future__ import annotations

import torch
import torch.distributed as dist


def in_words() -> str:
    """The end of a sentence about a rank that the others wait for; empty where there are none."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return ""
    seconds = _seconds()
    when = "as init_process_group was told" if seconds is None else f"{seconds:g} s after their call"
    return f"; collectives of other ranks that wait for this one time out {when}, unless timeout= of init_process_group is longer"


def _seconds() -> float | None:
    """Of the default group, of the first kind of device that has a backend."""
    for device in ("cuda", "cpu"):
        try:
            options = dist.group.WORLD._get_backend(torch.device(device)).options  # type: ignore[union-attr]  # pyright: ignore
            return float(options._timeout.total_seconds())
        except (AttributeError, RuntimeError, ValueError):  # no backend for that device, or without options
            continue
    return None
