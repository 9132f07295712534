"""The recording of a process is made as its first step begins; what prevents it is told once."""

from __future__ import annotations

from contextlib import ExitStack

from tensortap._config.filters import Filter, stranger
from tensortap._config.settings import Settings
from tensortap._health import topology
from tensortap._record import op_names, unseen
from tensortap._record.model_roots import Roots
from tensortap._record.own_time import Clock
from tensortap._session.notices import Notices
from tensortap._session.recording import Process
from tensortap._spool.folder import SpoolError
from tensortap._spool.spool import Spool


def make(settings: Settings, wanted: Filter, roots: Roots, counts: unseen.Unseen, notices: Notices, clock: Clock | None) -> Process | None:
    """The recording of this process; None where this rank is not wanted, or the spool cannot be made."""
    place = topology.place(next(iter(roots), None), rank=settings.rank, world_size=settings.world_size, replica=settings.replica)
    notices.rank = place.rank
    if not settings.ranks(place.rank):
        if problem := stranger(settings, place):
            notices.say(problem)
        return None
    for sentence in settings.differences:
        notices.say(sentence)
    for missing in op_names.missing_apis(settings.apis) if settings.apis else ():
        notices.say(f"apis: this torch has no {missing}")
    try:
        spool = Spool(settings.spool, segments=settings.segments)
    except SpoolError as error:
        notices.say(f"nothing is recorded: {error}")
        return None
    with ExitStack() as unmade:  # by whatever raises, also by Ctrl-C while a debugger is waited for
        unmade.callback(spool.close)
        process = Process(settings, wanted, roots, place, counts, spool, notices.say, clock)
        unmade.pop_all()
        unmade.callback(process.close)
        process.begin()
        unmade.pop_all()
    return process
