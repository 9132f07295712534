"""Readings of memory, and of its components, as rows."""

from __future__ import annotations

import time
from collections.abc import Iterable

from torch import nn

from tensortap._health.memory import Component, Memory, Reader
from tensortap._record.guard import Guard
from tensortap._record.op_names import Op
from tensortap._session.memory_components import MemoryComponents, ReadKv
from tensortap._spool import layout
from tensortap._spool.spool import Spool


class MemoryRows:
    """Those of one process."""

    def __init__(self, spool: Spool, models: Iterable[nn.Module], guard: Guard) -> None:
        self._spool, self._reader, self._components = spool, Reader(), MemoryComponents(models, guard)
        for model in models:
            self.watch(model)

    def watch(self, model: nn.Module) -> None:
        """Read the memory of this model's devices, too."""
        self._reader.watch({parameter.device for parameter in model.parameters()})

    def begin_step(self) -> None:
        """A step begins, whose peak is told from the process's."""
        self._reader.begin_step()
        self._components.begin_step()

    def write(self, op: Op) -> None:
        """Write what is in use after an op."""
        self._write(op.id, self._reader.after_module())

    def end_step(self, read_kv: ReadKv) -> None:
        """Write what is in use after the step, and what for."""
        readings = self._reader.end_step()
        self._write(0, readings)
        self._write_components(self._components.end_step(readings, read_kv))

    def rest(self) -> None:
        """Hear of no optimizer until a step begins."""
        self._components.rest()

    def close(self) -> None:
        """Read no more."""
        self._reader.close()

    def _write(self, op: int, readings: Iterable[Memory]) -> None:
        spool = self._spool
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

    def _write_components(self, components: Iterable[Component]) -> None:
        spool, now = self._spool, time.time_ns()
        for one in components:
            if spool.is_full:
                spool.dropped += 1
                continue
            known = (0 if held is None else held + 1 for held in (one.allocated_bytes, one.reserved_bytes, one.peak_bytes))
            texts = spool.text(one.name), spool.text(one.basis)
            spool.write(layout.COMPONENT_KIND, layout.COMPONENT, *texts, now, *known, spool.text(one.device))
