"""Readings of memory as rows."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tensortap._health.memory import Memory
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
