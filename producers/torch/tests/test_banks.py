"""Rows go from a device to the host while the program goes on: what stands for a GPU's driver is late, and fails, at will."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from weakref import ref

import interpreting
import pytest
import torch
from driving import Broken, Driver, driven
from measuring import PLACE, read

from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._stats import banks, kernel
from tensortap._stats.deferred import Deferred
from tensortap._stats.measure import MAX_ROWS


def test_all_in_an_interpreter() -> None:
    interpreting.run_all(__file__)


@pytest.fixture
def driver(interpreted: None) -> Iterator[Driver]:
    with driven() as made:
        yield made


class Tensors:
    """Of one value each, with the memory of their records."""

    def __init__(self) -> None:
        self.waiting, self._memories = Deferred(False, False, kernel.load()), list[ctypes.Array[ctypes.c_char]]()

    def add(self, *values: float) -> None:
        for value in values:
            memory = ctypes.create_string_buffer(MAX_ROWS * layout.RECORD_BYTES)
            self.waiting.add(torch.full((5,), value), ctypes.addressof(memory), Name(len(self._memories), 8, 9, 0, PLACE))
            self._memories.append(memory)

    @property
    def means(self) -> list[float | None]:
        """As far as they are written; None for those that are not, or could not be read."""
        found = [read(memory.raw, 2) if any(memory.raw) else None for memory in self._memories]
        return [None if one is None or one.flags & layout.UNSUPPORTED else one.mean for one in found]

    @property
    def unread(self) -> list[int]:
        return [at for at, memory in enumerate(self._memories) if any(memory.raw) and read(memory.raw, 2).flags & layout.UNSUPPORTED]


@pytest.fixture
def tensors(driver: Driver) -> Tensors:
    return Tensors()


def test_a_step_waits_for_nothing_and_makes_nothing(driver: Driver, tensors: Tensors) -> None:
    def step() -> None:
        tensors.add(1.0, 2.0, 3.0)
        tensors.waiting.send()
        tensors.waiting.poll()

    step()
    before = driver.counts()
    for _ in range(5):
        step()
    steps = {name: count - before[name] for name, count in driver.counts().items()}
    assert steps == {"waits": 0, "events": 0, "allocations": 0, "copies": 5, "launches": 15, "streams": 0}
    assert tensors.means == [1.0, 2.0, 3.0] * 6 and not tensors.waiting.is_waiting


def test_rows_that_come_late_are_written_when_they_have_come_and_in_order(driver: Driver, tensors: Tensors) -> None:
    driver.is_prompt, done = False, list[str]()
    for step, value in enumerate((1.0, 2.0, 3.0)):
        tensors.add(value)
        tensors.waiting.send()
        tensors.waiting.poll()
        tensors.waiting.then(lambda step=step: done.append(f"step {step} with {tensors.means}"))
    assert tensors.means == [None] * 3 and done == [] and tensors.waiting.is_waiting
    driver.run()
    assert tensors.means == [None] * 3, "nobody asked yet"
    tensors.waiting.poll()
    assert done == ["step 0 with [1.0, None, None]", "step 1 with [1.0, 2.0, None]", "step 2 with [1.0, 2.0, 3.0]"]
    assert driver.waits == 0 and not tensors.waiting.is_waiting


def test_what_comes_after_nothing_comes_at_once(tensors: Tensors) -> None:
    done = list[bool]()
    tensors.waiting.then(lambda: done.append(True))
    assert done == [True]


def test_rows_of_every_stream_are_in_the_copy_and_no_stream_waits_for_another(driver: Driver, tensors: Tensors) -> None:
    driver.is_prompt, side = False, torch.cuda.Stream()
    tensors.add(1.0)
    with torch.cuda.stream(side):
        tensors.add(2.0)
    tensors.add(3.0)
    tensors.waiting.send()
    held, side.work = side.work, type(side.work)()  # the side stream takes its time
    driver.run()
    tensors.waiting.poll()
    assert tensors.means == [None] * 3 and not driver.main.work, "the program's other stream went on"
    side.work.extend(held)
    driver.run()
    tensors.waiting.poll()
    assert tensors.means == [1.0, 2.0, 3.0] and driver.waits == 0


def test_a_step_of_many_tensors_fills_several_banks(driver: Driver, tensors: Tensors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banks, "_ROWS", 3)
    driver.is_prompt = False
    values = [float(value) for value in range(8)]
    tensors.add(*values)
    assert driver.copies == 2 and tensors.means == [None] * 8
    driver.run()
    tensors.add(8.0, 9.0)
    assert tensors.means[:6] == values[:6], "those that have come are written as the next bank is needed"
    tensors.waiting.flush()
    assert tensors.means == [*values, 8.0, 9.0]
    assert tensors.waiting.waits == 0


def test_when_all_banks_are_on_their_way_the_oldest_is_waited_for(driver: Driver, tensors: Tensors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banks, "_ROWS", 1)
    monkeypatch.setattr(banks, "_MOST_BANKS", 2)
    driver.is_prompt = False
    tensors.add(1.0, 2.0)
    assert driver.waits == tensors.waiting.waits == 0
    tensors.add(3.0)
    assert driver.waits == tensors.waiting.waits == 1 and tensors.means[0] == 1.0
    tensors.waiting.flush()
    assert tensors.means == [1.0, 2.0, 3.0]


def test_where_memory_is_short_one_bank_does(driver: Driver, tensors: Tensors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banks, "_ROWS", 1)
    driver.is_prompt, asked = False, list[bool]()
    tensors.add(1.0)

    def refused(*_: object) -> banks.Bank:
        asked.append(True)
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(banks, "Bank", refused)
    tensors.add(2.0, 3.0)
    tensors.waiting.flush()
    assert tensors.means == [1.0, 2.0, 3.0] and asked == [True] and tensors.waiting.waits == 2


@pytest.mark.parametrize("fails", ["copy", "event"])
def test_rows_of_a_failed_device_say_so_and_are_complete(driver: Driver, tensors: Tensors, fails: str) -> None:
    driver.is_prompt, done = False, list[list[int]]()
    tensors.add(1.0)
    tensors.waiting.send()
    tensors.waiting.then(lambda: done.append(tensors.unread))
    tensors.add(2.0)
    if fails == "event":
        tensors.waiting.send()
    driver.is_broken = True
    with pytest.raises(Broken):
        tensors.waiting.flush()
    assert tensors.unread == [0, 1] and done and not tensors.waiting.is_waiting
    driver.is_broken = False
    tensors.add(3.0)
    tensors.waiting.flush()
    assert tensors.means == [None, None, 3.0]


def test_what_is_another_processes_is_never_written_nor_freed(driver: Driver, tensors: Tensors) -> None:
    driver.is_prompt = False
    tensors.add(1.0)
    tensors.waiting.send()
    tensors.add(2.0)
    ((of_device, _),) = tensors.waiting._devices.values()
    kept = [ref(tensors.waiting._sent[0]), ref(of_device.filling), ref(of_device)]
    del of_device
    asked = driver.queries
    tensors.waiting.forget()
    tensors.waiting.flush()
    assert tensors.means == [None, None] and (driver.queries, driver.waits) == (asked, 0)
    gc.collect()
    assert all(one() is not None for one in kept)
