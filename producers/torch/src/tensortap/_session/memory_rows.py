"""Readings of memory, and of its components, as rows."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tensortap._health.memory import Component, Memory
from tensortap._spool import layout
from tensortap._spool.spool import Spool


def write(spool: Spool, op: int, readings: Iterable[Memory]) -> None:
    """Write what was read after an op; after the step, with 0."""
    for reading in readings:
        spool.write(
            layout.MEMORY_KIND,
            layout.MEMORY,
            op,
            spool.text(reading.device),
            time.time_ns(),
            reading.allocated_bytes,
            reading.reserved_bytes,
            reading.peak_bytes,
            reading.device_free_bytes,
            reading.host_resident_bytes,
            reading.retries,
        )


def write_components(spool: Spool, components: Iterable[Component]) -> None:
    """Write what memory is for, at the end of a step."""
    now = time.time_ns()
    for one in components:
        if spool.is_full:
            spool.dropped += 1
            continue
        known = (0 if held is None else held + 1 for held in (one.allocated_bytes, one.reserved_bytes, one.peak_bytes))
        texts = spool.text(one.name), spool.text(one.basis)
        spool.write(layout.COMPONENT_KIND, layout.COMPONENT, *texts, now, *known, spool.text(one.device))
