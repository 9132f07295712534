"""Memory readings on this machine's CPU, and the arithmetic of a device's."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tensortap._health.memory import Allocator, Reader


def test_the_resident_set_grows_by_what_is_allocated() -> None:
    reader = Reader()
    reader.begin_step()
    before = reader.end_step()[0].host_resident_bytes
    kept = torch.ones(64 << 20, dtype=torch.uint8)
    after = reader.end_step()[0]
    assert 60 << 20 <= after.host_resident_bytes - before <= 80 << 20
    assert (after.device, after.allocated_bytes, after.peak_bytes, after.device_free_bytes) == ("cpu", 0, 0, 0)
    reader.close()
    reader.close()
    assert reader.after_module()[0].host_resident_bytes == 0
    assert kept[0] == 1


def seconds_of(read: Callable[[], object]) -> float:
    """Of the processor, for a thousand: the least of five, since others use the machine too."""

    def once() -> float:
        before = time.process_time()
        for _ in range(1000):
            read()
        return time.process_time() - before

    return min(once() for _ in range(5))


def test_a_reading_of_the_host_costs_less_than_a_file_opened_and_read() -> None:
    reader = Reader()
    assert seconds_of(reader.after_module) < seconds_of(Path("/proc/self/status").read_text)
    reader.close()


def counters(allocated: int, peak: int) -> dict[str, Any]:
    def both(current: int, peak: int) -> dict[str, Any]:
        return {"all": {"current": current, "peak": peak}}

    return {"allocated_bytes": both(allocated, peak), "reserved_bytes": both(900, 900), "num_alloc_retries": 3, "num_ooms": 70000}


def test_the_peak_of_a_step_is_told_from_that_of_the_process() -> None:
    device = Allocator()
    device.begin_step(counters(100, 500))
    assert device.read(counters(300, 500))["peak_bytes"] == 300
    ended = device.read(counters(200, 500))
    assert ended == {"allocated_bytes": 200, "reserved_bytes": 900, "peak_bytes": 300, "retries": 3 + (0xFFFF << 16)}
    assert device.read(counters(200, 600))["peak_bytes"] == 600
    device.begin_step(counters(50, 600))
    assert device.read(counters(70, 600))["peak_bytes"] == 70


def test_an_allocator_that_was_never_used_reads_zero() -> None:
    assert set(Allocator().read({}).values()) == {0}
