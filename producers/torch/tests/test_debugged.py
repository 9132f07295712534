"""A debugger in a rank: where it listens, what hinders it, and that the program goes on. e2e/scene has a client, and the terminal."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import asking
import pytest
import reading
from models import small

import tensortap
from tensortap._config.step_ranges import Steps, parse_steps
from tensortap._debug import launched, listening, standing
from tensortap._health.heartbeat import Heartbeat, debuggers_pass_over
from tensortap._spool import layout

HERE = Path(__file__).resolve().parents[1]
SAYS = "print('the program runs')"
CHILD = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {SAYS!r}], capture_output=True, text=True))"
ASKED = """
import sys, threading, time
from pathlib import Path
sys.path.insert(0, {tests!r})
import asking, torch
from models import small
import tensortap
model, batch = small()
with tensortap.tap(model, run="asked", spool=Path({spool!r})) as tap:
    model(batch)
    folder = next(path for path in Path({spool!r}).iterdir() if (path / "header").exists())
    for sequence, port in (({first}, {taken}), (9, {free}), (11, {free})):
        asking.ask(folder, sequence, do="debug", port=port)
        while asking.answer(folder)[0] != sequence:  # no step ends meanwhile
            time.sleep(0.01)
        print(asking.answer(folder))
print("the program runs")
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind((listening.HOST, 0))
        return int(one.getsockname()[1])


def python(code: str, **variables: str) -> str:
    """What a Python prints that is started as `tensortap run` starts it."""
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", **variables}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (HERE / "boot", HERE / "src")))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout + done.stderr


def test_a_port_that_is_taken_is_named_and_no_other_is_taken_in_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind((listening.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        launched.enter(launched.Asked(ranks=parse_steps("3"), first_port=port - 3), 3)
    assert listening.port() == 0
    said = capsys.readouterr().err
    assert f"rank 3: no debugger can attach, and the rank goes on without: port {port} of 127.0.0.1 cannot be had: Address already in use" in said
    assert "--debug-port" in said


def test_a_rank_that_is_not_meant_does_not_listen(capsys: pytest.CaptureFixture[str]) -> None:
    launched.enter(launched.Asked(ranks=Steps(())), 0)
    assert (listening.port(), capsys.readouterr().err) == (0, "")


def test_without_debugpy_the_rank_says_so() -> None:
    hidden = "import sys; sys.modules['debugpy'] = None; from tensortap._debug import launched; from tensortap._config.step_ranges import Steps; "
    said = python(hidden + f"launched.enter(launched.Asked(ranks=Steps(), first_port={free_port()}), 0); {SAYS}")
    assert "debugpy is not installed in this program's environment: pip install debugpy" in said
    assert "the program runs" in said


def test_a_rank_for_which_nobody_comes_goes_on() -> None:
    pytest.importorskip("debugpy")
    port = free_port()
    said = python(SAYS, RANK="0", TENSORTAP_DEBUG="0", TENSORTAP_DEBUG_PORT=str(port), TENSORTAP_DEBUG_WAIT="0.2")
    assert f"rank 0: a debugger can attach at 127.0.0.1:{port}; the rank waits for it, 0.2 s at most" in said
    assert f"rank 0: no debugger has come within 0.2 s, and the rank goes on; one can still attach at 127.0.0.1:{port}" in said
    assert "the program runs" in said


def test_what_a_rank_starts_is_no_rank() -> None:
    pytest.importorskip("debugpy")
    said = python(CHILD, RANK="0", TENSORTAP_DEBUG="0", TENSORTAP_DEBUG_PORT=str(free_port()), TENSORTAP_DEBUG_WAIT="0")
    assert "stdout='the program runs\\n', stderr=''" in said
    assert said.count("a debugger can attach") == 1


def test_a_launcher_is_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launched.told_rank({"SLURM_PROCID": "3"}) == 3
    monkeypatch.setattr(sys, "orig_argv", ["python", "/x/bin/torchrun", "train.py"])
    assert launched.told_rank({"SLURM_PROCID": "3"}) is None


def test_a_live_process_is_asked_and_answers_though_no_step_ends(tmp_path: Path) -> None:
    pytest.importorskip("debugpy")
    free = free_port()
    with socket.socket() as other:
        other.bind((listening.HOST, 0))
        other.listen()
        taken = other.getsockname()[1]
        said = python(ASKED.format(tests=str(HERE / "tests"), spool=str(tmp_path), first=7, taken=taken, free=free), TENSORTAP_ATTACH="")
    assert f"(7, 5, 0, 0, 'port {taken} of 127.0.0.1 cannot be had: Address already in use" in said
    assert f"(9, 16, 0, 0, '127.0.0.1:{free}')" in said
    assert f"(11, 16, 0, 0, '127.0.0.1:{free}')" in said, "one that listens already says where"
    assert "the program runs" in said


def test_a_request_that_comes_again_after_another_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "in_background", lambda port, heard: heard(port, ""))
    model, batch = small()
    with tensortap.tap(model, run="asked", spool=tmp_path):
        model(batch)
        folder = next(path for path in tmp_path.iterdir() if (path / "header").exists())
        for sequence, asked in ((7, "debug"), (8, "stop"), (7, "debug")):
            asking.ask(folder, sequence, do=asked)
            if asked == "stop":
                model(batch)  # the step answers, before the thread of the heartbeat sees it
            until = time.monotonic() + 10
            while asking.answer(folder)[0] != sequence and time.monotonic() < until:
                time.sleep(0.01)
            assert asking.answer(folder)[:2] == (sequence, layout.STOPPED if asked == "stop" else layout.LISTENING)


def test_a_rank_that_waits_for_its_debugger_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def start(heartbeat: Heartbeat) -> None:
        heartbeat._beat()  # all that it reads is there
        order.append("beat")

    monkeypatch.setattr(Heartbeat, "start", start)
    monkeypatch.setattr(launched, "enter", lambda asked, rank: order.append("waits"))
    model, batch = small()
    with tensortap.tap(model, run="asked", spool=tmp_path):
        model(batch)
    assert order == ["beat", "waits"]
    (step,) = reading.only(tmp_path).steps
    assert step.ended and not any(reason == "hook error" for reason, _ in step.unseen)


def test_without_run_a_breakpoint_is_said_and_passed(tmp_path: Path) -> None:
    said = python("for _ in range(2):\n    breakpoint()\n" + SAYS, TENSORTAP_TERMINAL=str(tmp_path / "gone"))
    assert said.count("<string>, line 2, and goes on: tensortap run, which lends its terminal, cannot be reached") == 1
    assert "the program runs" in said


def test_the_users_own_debugger_stays() -> None:
    assert "0" in python("breakpoint(); print(0)", TENSORTAP_TERMINAL="/gone", PYTHONBREAKPOINT="0")


def test_it_is_known_since_when_a_person_holds_the_process_up() -> None:
    standing.begins(standing.ATTACHED)
    kind, since = standing.now()
    standing.begins(standing.AT_PROMPT, 1)
    standing.begins(standing.AT_PROMPT, 1)
    assert standing.now() == (standing.AT_PROMPT, since)
    standing.ends(standing.ATTACHED)
    assert standing.now()[0] == standing.AT_PROMPT
    standing.ends(standing.AT_PROMPT, 1)
    assert (kind, standing.now()) == (standing.ATTACHED, (0, 0))


def test_threads_of_ours_are_marked_for_pydevd_as_it_reads_it() -> None:
    thread = threading.Thread()
    debuggers_pass_over(thread)
    assert vars(thread)["pydev_do_not_trace"] and vars(thread)["is_pydev_daemon_thread"]
