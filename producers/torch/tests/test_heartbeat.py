"""The sign of life: it beats, ends, survives forks, and holds nobody up."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tensortap._health.heartbeat import Heartbeat

errors: list[Exception] = []


def wait_for(beats: list[int], number: int) -> None:
    limit = time.monotonic() + 10
    while len(beats) < number and time.monotonic() < limit:
        time.sleep(0.01)
    assert len(beats) >= number


def test_it_beats_until_it_is_stopped() -> None:
    beats: list[int] = []
    heart = Heartbeat(lambda: beats.append(1), errors.append, interval_s=0.01)
    heart.start()
    heart.start()
    wait_for(beats, 3)
    heart.stop()
    heart.stop()
    count = len(beats)
    time.sleep(0.05)
    assert len(beats) == count
    heart.start()
    wait_for(beats, count + 2)
    heart.stop()


def test_a_forked_child_is_silent_until_it_starts_its_own() -> None:
    beats: list[int] = []
    heart = Heartbeat(lambda: beats.append(1), errors.append, interval_s=0.01)
    heart.start()
    wait_for(beats, 1)
    child = os.fork()
    if child == 0:
        beats.clear()
        time.sleep(0.05)
        silent = not beats
        heart.start()
        time.sleep(0.5)
        heart.stop()
        os._exit(0 if silent and beats else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    wait_for(beats, len(beats) + 2)
    heart.stop()


def test_it_does_not_keep_the_process_alive_and_sleeps_between_its_beats() -> None:
    code = (
        "import time; from tensortap._health.heartbeat import Heartbeat\n"
        "beats = []; begun = time.monotonic(); before = time.process_time()\n"
        "Heartbeat(lambda: beats.append(1), print, interval_s=0.1).start()\n"
        "time.sleep(1); print(len(beats), time.monotonic() - begun, time.process_time() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=600)
    beats, elapsed, used = map(float, done.stdout.split())
    assert beats <= elapsed / 0.1 + 1
    assert used < elapsed / 2, "a loop that asks again and again takes all"
