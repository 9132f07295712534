"""A debugger from the start: a rank that is asked for listens and waits, as soon as it is known which rank the process is."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tensortap._config.step_ranges import Steps, parse_steps
from tensortap._debug import listening, standing

FIRST_PORT: Final = 5678
LONGEST_WAIT_S: Final = 600.0
_RANK_VARIABLES: Final = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
_LAUNCHERS: Final = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which ranks a debugger is to attach to, and how."""

    ranks: Steps
    first_port: int = FIRST_PORT  # that of rank 0
    wait_s: float = LONGEST_WAIT_S


def at_start(environment: Mapping[str, str]) -> None:
    """In a process whose launcher has told it its rank: before the program's first line."""
    rank = told_rank(environment)
    if rank is not None:
        try:
            asked = _asked(environment)
        except ValueError:  # a tap says so, and `run` has
            return
        enter(asked, rank)


def enter(asked: Asked, rank: int) -> None:
    """If this rank is meant, listen and wait. What hinders that is said, and the rank goes on."""
    if not asked.ranks(rank) or listening.port() or listening.is_part_of_a_rank():
        return
    try:
        at = listening.listen(asked.first_port + rank)
    except listening.ListenError as error:
        standing.say(f"rank {rank}: no debugger can attach, and the rank goes on without: {error}")
        return
    standing.say(f"rank {rank}: a debugger can attach at {listening.HOST}:{at}{_waits(asked.wait_s)}")
    if asked.wait_s > 0 and not listening.wait(asked.wait_s):
        standing.say(f"rank {rank}: no debugger has come within {asked.wait_s:g} s, and the rank goes on; one can still attach at {listening.HOST}:{at}")


def told_rank(environment: Mapping[str, str]) -> int | None:
    """The rank that the launcher has given this process; none for a launcher itself, which Slurm gives one, too."""
    if any(os.path.basename(word) in _LAUNCHERS for word in sys.orig_argv[:4]):
        return None
    return next((int(environment[name]) for name in _RANK_VARIABLES if environment.get(name, "").isdecimal()), None)


def _waits(seconds: float) -> str:
    return f"; the rank waits for it, {seconds:g} s at most" if seconds > 0 else ""


def _asked(environment: Mapping[str, str]) -> Asked:
    return Asked(
        ranks=parse_steps(environment["TENSORTAP_DEBUG"]),
        first_port=int(environment.get("TENSORTAP_DEBUG_PORT") or FIRST_PORT),
        wait_s=float((environment.get("TENSORTAP_DEBUG_WAIT") or str(LONGEST_WAIT_S)).removesuffix("s")),
    )
