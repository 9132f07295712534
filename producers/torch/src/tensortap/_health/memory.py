"""Memory counters of the devices of a model and of this process, read without a synchronisation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_MOST_COUNTED: Final = 0xFFFF


@dataclass(frozen=True, kw_only=True)
class Memory:
    """One reading. The counters of the device "cpu" are 0: torch keeps none for it."""

    device: str = "cpu"
    allocated_bytes: int = 0
    reserved_bytes: int = 0
    peak_bytes: int = 0
    device_free_bytes: int = 0
    host_resident_bytes: int = 0
    retries: int = 0  # allocations retried + 65536 x those refused, since the process began


@dataclass(frozen=True, kw_only=True)
class Component:
    """What a part of a device's memory is for. None: not known."""

    name: str
    basis: str  # what the bytes rest on
    device: str
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None  # the capacity of what has one
    peak_bytes: int | None = None  # since the step began


class Reader:
    """Reads the counters of one process. Not for use after a fork: a child makes its own."""

    def __init__(self) -> None:
        self._counters: dict[torch.device, Allocator] = {}
        self._statm = _open_statm()

    def watch(self, devices: Iterable[torch.device]) -> None:
        """Read the counters of these devices, too."""
        for device in devices:
            if device.type == "cuda" and device not in self._counters:
                self._counters[device] = Allocator()
                self._counters[device].begin_step(torch.cuda.memory_stats_as_nested_dict(device))

    def begin_step(self) -> None:
        """Note where the allocators stand, so that the step's own peak can be told from the process's."""
        for device, counters in self._counters.items():
            counters.begin_step(torch.cuda.memory_stats_as_nested_dict(device))

    def end_step(self) -> list[Memory]:
        """A reading per device, with what all processes leave free of it; one of "cpu" when there is none."""
        return [self._of_device(device, free=True) for device in self._counters] or [self._of_host()]

    def after_module(self) -> list[Memory]:
        """The same, without asking the driver."""
        return [self._of_device(device, free=False) for device in self._counters] or [self._of_host()]

    def close(self) -> None:
        """Release the file that is kept open."""
        if self._statm >= 0:
            os.close(self._statm)
            self._statm = -1

    def _of_host(self) -> Memory:
        return Memory(host_resident_bytes=self._resident())

    def _of_device(self, device: torch.device, *, free: bool) -> Memory:
        return Memory(
            device=str(device),
            device_free_bytes=torch.cuda.mem_get_info(device)[0] if free else 0,
            host_resident_bytes=self._resident(),
            **self._counters[device].read(torch.cuda.memory_stats_as_nested_dict(device)),
        )

    def _resident(self) -> int:
        if self._statm < 0:
            return 0
        return int(os.pread(self._statm, 128, 0).split()[1]) * _PAGE_BYTES


class Allocator:
    """What one device's allocator says, read so that the peak is that of the step."""

    def __init__(self) -> None:
        self._peak_before = 0
        self._greatest = 0

    def begin_step(self, counters: Mapping[str, Any]) -> None:
        """A step begins with these counters."""
        self._peak_before = _counter(counters, "allocated_bytes", "peak")
        self._greatest = 0

    def read(self, counters: Mapping[str, Any]) -> dict[str, int]:
        """The fields of Memory that the counters give.

        The allocator's peak is the application's to reset. Where it did not rise in this step, the step's own lies
        below it, and the greatest value that was read in the step is what is known.
        """
        allocated = _counter(counters, "allocated_bytes", "current")
        peak = _counter(counters, "allocated_bytes", "peak")
        self._greatest = max(self._greatest, allocated)
        retried, refused = int(counters.get("num_alloc_retries", 0)), int(counters.get("num_ooms", 0))
        return {
            "allocated_bytes": allocated,
            "reserved_bytes": _counter(counters, "reserved_bytes", "current"),
            "peak_bytes": peak if peak > self._peak_before else self._greatest,
            "retries": min(retried, _MOST_COUNTED) + (min(refused, _MOST_COUNTED) << 16),
        }


def _open_statm() -> int:
    try:
        return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _counter(counters: Mapping[str, Any], name: str, which: str) -> int:
    return int(counters.get(name, {}).get("all", {}).get(which, 0))
