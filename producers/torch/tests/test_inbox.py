"""Requests and answers pass the page whole, each once, whichever threads are at it."""

from __future__ import annotations

import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import asking
import pytest

from tensortap._session.inbox import Asked, Inbox
from tensortap._spool import layout
from tensortap._spool.spool import Spool

REQUESTS = 60
PAUSE = 1e-4  # seconds
READS = 1000


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path)
    yield made
    if not made.header.bytes.closed:
        made.close()


@pytest.fixture
def often() -> Iterator[None]:
    """Threads that are started take turns at each line that has to do with the page, where Python by itself might pass several."""
    before = threading.gettrace()
    threading.settrace(_gives_way)
    yield
    threading.settrace(before)  # type: ignore[arg-type]


def _gives_way(frame: FrameType, event: str, given: object) -> Any:
    if Path(frame.f_code.co_filename).name not in ("inbox.py", "control_page.py"):
        return None
    if event == "line":
        time.sleep(0)
    return _gives_way


def _at_once(*works: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("often")
def test_answers_of_several_threads_do_not_tear(spool: Spool) -> None:
    inbox, torn, ended = Inbox(spool.control), list[object](), threading.Event()
    asking.ask(spool.folder, 7, do="stop")

    def answers(number: int) -> None:
        while not ended.is_set():
            inbox.answer(7, number, number, str(number) * number)

    def reads() -> None:
        for _ in range(READS):
            sequence, outcome, step, _, text = asking.answer(spool.folder)
            if sequence and text != str(outcome) * step:
                torn.append((outcome, step, text))
        ended.set()

    _at_once(*(lambda number=number: answers(number) for number in (2, 5, 9)), reads)
    assert torn == []


class _Process:
    """Follows requests as a process does: from the thread of steps, from that of the heartbeat, and from one that debugs."""

    def __init__(self, spool: Spool) -> None:
        self.inbox = Inbox(spool.control)
        self.followed: Counter[int] = Counter()
        self.ended = threading.Event()
        self._later: list[Asked] = []

    def steps(self) -> None:
        while not self.ended.wait(PAUSE):
            for asked in self.inbox.for_step():
                self._follow(asked, layout.STOPPED)

    def beats(self) -> None:
        while not self.ended.wait(PAUSE):
            for asked in self.inbox.for_heartbeat():
                if asked.do == "debug":
                    self._later.append(asked)
                else:
                    self._follow(asked, layout.TRACING)

    def debugs(self) -> None:
        while not self.ended.wait(PAUSE):
            if self._later:
                self._follow(self._later.pop(0), layout.LISTENING)

    def _follow(self, asked: Asked, outcome: int) -> None:
        self.followed[asked.sequence] += 1
        self.inbox.answer(asked.sequence, outcome, asked.sequence, asked.do)


OUTCOMES = {"stop": layout.STOPPED, "trace": layout.TRACING, "debug": layout.LISTENING}


@pytest.mark.usefixtures("often")
def test_every_request_is_followed_once_and_answered_whichever_overtakes_it(spool: Spool) -> None:
    process, heard = _Process(spool), dict[int, tuple[int, int, str]]()
    kinds = {sequence: ("stop", "trace", "debug")[sequence % 3] for sequence in range(1, REQUESTS + 1)}

    def asks() -> None:
        """As an agent: one that waits for a step is overtaken at once, and asked again."""
        waiting: list[int] = []
        for sequence, kind in kinds.items():
            waiting.append(sequence)
            if kind == "stop":
                asking.ask(spool.folder, sequence, do=kind)
                continue
            for one in (sequence, *waiting[:-1]):
                hears(one)
            waiting.clear()
        for one in waiting:
            hears(one)
        process.ended.set()

    def hears(sequence: int) -> None:
        asking.ask(spool.folder, sequence, do=kinds[sequence])
        for _ in range(1 << 16):
            time.sleep(PAUSE)
            said, outcome, step, _, text = asking.answer(spool.folder)
            if said == sequence:
                heard[sequence] = outcome, step, text
                return

    _at_once(process.steps, process.beats, process.debugs, asks)
    assert heard == {sequence: (OUTCOMES[kind], sequence, kind) for sequence, kind in kinds.items()}
    assert set(process.followed.values()) == {1}


def test_an_answer_to_an_older_request_does_not_stand_in_the_place_of_the_newest(spool: Spool) -> None:
    inbox = Inbox(spool.control)
    asking.ask(spool.folder, 7, do="stop")
    assert [asked.sequence for asked in inbox.for_step()] == [7]
    asking.ask(spool.folder, 8, do="trace")
    assert [asked.sequence for asked in inbox.for_heartbeat()] == [8]
    inbox.answer(8, layout.TRACING, 1)
    inbox.answer(7, layout.STOPPED, 2)
    assert asking.answer(spool.folder)[:3] == (8, layout.TRACING, 1)
    asking.ask(spool.folder, 7, do="stop")
    assert (inbox.for_step(), inbox.for_heartbeat()) == ((), ())
    assert asking.answer(spool.folder)[:3] == (7, layout.STOPPED, 2)


def test_what_one_thread_reads_another_is_handed(spool: Spool) -> None:
    inbox = Inbox(spool.control)
    asking.ask(spool.folder, 7, do="capture")
    assert not inbox.for_heartbeat()
    asking.ask(spool.folder, 8, do="debug")
    assert [(asked.sequence, asked.do) for asked in inbox.for_step()] == [(7, "capture")]
    assert [(asked.sequence, asked.do) for asked in inbox.for_heartbeat()] == [(8, "debug")]


def test_more_than_can_wait_for_a_step_is_refused(spool: Spool) -> None:
    inbox = Inbox(spool.control)
    for sequence in range(1, 18):
        asking.ask(spool.folder, sequence, do="capture")
        inbox.for_heartbeat()
    assert asking.answer(spool.folder)[:2] == (17, layout.REFUSED)
    assert [asked.sequence for asked in inbox.for_step()] == list(range(1, 17))


def test_an_answer_that_comes_when_the_tap_has_ended_is_for_nobody(spool: Spool) -> None:
    inbox = Inbox(spool.control)
    asking.ask(spool.folder, 7, do="debug")
    inbox.for_heartbeat()
    inbox.close()
    spool.close()
    inbox.answer(7, layout.LISTENING, 0)
    assert asking.answer(spool.folder)[0] == 0


def test_a_child_does_not_wait_for_a_thread_that_only_its_parent_has(spool: Spool) -> None:
    inbox = Inbox(spool.control)
    asking.ask(spool.folder, 7, do="debug")
    with inbox._lock:
        inbox.leave()
    inbox.answer(7, layout.LISTENING, 0)
    assert struct.unpack_from("<I", (spool.folder / "header").read_bytes(), layout.ANSWERED_SEQUENCE) == (0,)
