"""A driver in Python that stands for a GPU's: what is enqueued on a stream is done when a test says so, or somebody waits for it."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch

from tensortap._stats import streams


class Broken(RuntimeError):
    """As torch raises where a device failed."""


class Stream:
    """Work in order."""

    def __init__(self, driver: Driver) -> None:
        self.cuda_stream = len(driver.streams)
        self.driver, self.work = driver, deque[Callable[[], bool]]()
        driver.streams.append(self)

    def enqueue(self, action: Callable[[], object]) -> None:
        """Do that behind all work so far."""
        self.work.append(lambda: (action(), True)[1])
        self.driver.run_if_prompt()

    def wait_event(self, event: Event) -> None:
        """Later work waits for what the event was recorded behind."""
        number = event.recorded
        self.work.append(lambda: event.reached >= number)
        self.driver.run_if_prompt()


class Event:
    """A place in a stream."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.recorded, self.reached = driver, 0, 0
        driver.events += 1

    def record(self, stream: Stream) -> None:
        """Behind all of its work so far."""
        self.recorded += 1
        stream.enqueue(partial(setattr, self, "reached", self.recorded))

    def query(self) -> bool:
        """Whether it is reached."""
        assert self.driver.has_device, "the thread has no device, and gets a context on the first"
        self.driver.queries += 1
        self.driver.fail_if_broken()
        return self.reached == self.recorded

    def synchronize(self) -> None:
        """Wait for it."""
        self.driver.waits += 1
        self.driver.fail_if_broken()
        self.driver.run()
        assert self.reached == self.recorded, "nobody would ever come back from here"


class Driver:
    """What it was asked for, and when it does it."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.main = self.current = Stream(self)
        self.is_prompt = True  # all is done as it is enqueued
        self.is_broken = self.has_device = False
        self.waits = self.queries = self.events = self.allocations = self.copies = self.launches = 0

    def counts(self) -> dict[str, int]:
        """How often the host waited, and what else was made or enqueued."""
        return {name: getattr(self, name) for name in ("waits", "events", "allocations", "copies", "launches")} | {"streams": len(self.streams)}

    def run(self) -> None:
        """Do what is enqueued."""
        while any(self._runs(stream) for stream in self.streams):
            pass

    def run_if_prompt(self) -> None:
        if self.is_prompt:
            self.run()

    def fail_if_broken(self) -> None:
        if self.is_broken:
            raise Broken("CUDA error: an illegal memory access was encountered")

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        """Work goes there."""
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def device(self, _: object) -> Iterator[None]:
        """It is the current one."""
        self.has_device = True
        try:
            yield
        finally:
            self.has_device = False

    @staticmethod
    def _runs(stream: Stream) -> bool:
        if not stream.work:
            return False
        action = stream.work.popleft()
        if action():
            return True
        stream.work.appendleft(action)
        return False


@contextmanager
def driven() -> Iterator[Driver]:
    """Triton's interpreter and our copies obey such a driver. What else torch does is done at once, as it lies on the CPU."""
    import torch._dynamo  # PyTorch 2.4 asks, as it imports this, that an event is of its own class
    from triton.runtime.interpreter import GridExecutor

    driver, copy, launch = Driver(), torch.Tensor.copy_, GridExecutor.__call__

    def copied(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        if not non_blocking:
            return copy(target, source)
        driver.copies += 1
        driver.fail_if_broken()
        driver.current.enqueue(partial(copy, target, source))
        return target

    def launched(self: Any, *args: Any, **kwargs: Any) -> None:
        driver.launches += 1
        driver.current.enqueue(partial(launch, self, *args, **kwargs))

    def counted(whole: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def make(*args: Any, **kwargs: Any) -> torch.Tensor:
            driver.allocations += "_stats" in sys._getframe(1).f_code.co_filename
            return whole(*args, **kwargs)

        return make

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "is_asynchronous", lambda _: True)
        patch.setattr(streams, "ask_beside_captures", lambda: True)
        patch.setattr(torch.cuda, "Stream", lambda *_: Stream(driver))
        patch.setattr(torch.cuda, "Event", lambda: Event(driver))
        patch.setattr(torch.cuda, "current_stream", lambda *_: driver.current)
        patch.setattr(torch.cuda, "stream", driver.on)
        patch.setattr(torch.cuda, "device", driver.device)
        patch.setattr(torch.cuda, "synchronize", lambda *_: pytest.fail("the whole device is waited for"))
        patch.setattr(torch.Tensor, "copy_", copied)
        patch.setattr(GridExecutor, "__call__", launched)
        for name in ("empty", "zeros"):
            patch.setattr(torch, name, counted(getattr(torch, name)))
        yield driver
