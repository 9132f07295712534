"""Readings of memory, and of its components, as rows."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tensortap._health.memory import Component, Memory
from torch import nn

from tensortap._health.memory import Reader
from tensortap._record.op_names import Op
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
class MemoryRows:
    """Those of one process."""

    def __init__(self, spool: Spool, models: Iterable[nn.Module]) -> None:
        self._spool, self._reader = spool, Reader()
        for model in models:
            self.watch(model)

    def watch(self, model: nn.Module) -> None:
        """Read the memory of this model's devices, too."""
        self._reader.watch({parameter.device for parameter in model.parameters()})

    def begin_step(self) -> None:
        """A step begins, whose peak is told from the process's."""
        self._reader.begin_step()

    def write(self, op: Op | None) -> None:
        """Write what is in use after an op; after the step, with None."""
        spool = self._spool
        for reading in self._reader.after_module() if op else self._reader.end_step():
            spool.write(
                layout.MEMORY_KIND,
                layout.MEMORY,
                op.id if op else 0,
                spool.text(reading.device),
                time.time_ns(),
                reading.allocated_bytes,
                reading.reserved_bytes,
                reading.peak_bytes,
                reading.device_free_bytes,
                reading.host_resident_bytes,
                reading.retries,
            )

    def close(self) -> None:
        """Read no more."""
        self._reader.close()
