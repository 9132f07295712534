"""Records of logging are kept with their fields, step and op, and the program's own logging is as without us."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import tensortap


class Speaking(nn.Module):
    """Logs as it is called."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Log, and pass on."""
        logging.getLogger("a.b").warning("seen %d", 3, extra={"request_id": "r-1", "shape": (2, 3)})
        return x


def _records(spool: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(spool.glob("*.logging")) for line in path.read_text().splitlines()]


def test_records_have_fields_step_and_op(tmp_path: Path) -> None:
    model = nn.Sequential(Speaking())
    with tensortap.tap(model, run="logged", spool=tmp_path):
        model(torch.ones(1))
        model(torch.ones(1))
        try:
            raise ValueError("bad")
        except ValueError:
            logging.getLogger("a").exception("it failed")
    head, first, second, failed = _records(tmp_path)
    assert (head["run"], head["rank"], head["pid"]) == ("logged", 0, os.getpid())
    assert (first["l"], first["n"], first["m"], first["s"], first["r"]) == (30, "a.b", "seen 3", 0, "r-1")
    assert first["e"] == {"request_id": "r-1", "shape": "(2, 3)"}
    assert first["o"].startswith("Module.") and second["s"] == 1
    assert "ValueError: bad" in failed["x"] and failed["l"] == 40
    assert abs(first["t"] - time.time_ns()) < 60 * 10**9


def test_the_programs_own_logging_is_as_without_us(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, root = logging.Logger.callHandlers, logging.getLogger()
    handlers = list(root.handlers)
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="logged", spool=tmp_path):
        model(torch.ones(1, 1))
        assert root.handlers == handlers
        assert logging.Logger.callHandlers is not before
        silent = logging.getLogger("silent")
        silent.propagate = False
        silent.error("to the last resort")
        silent.debug("nobody asked for")
    assert logging.Logger.callHandlers is before
    assert [record["m"] for record in _records(tmp_path)[1:]] == ["to the last resort"]
    assert "to the last resort" in capsys.readouterr().err


def test_an_error_of_ours_does_not_reach_who_logs(tmp_path: Path) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="logged", spool=tmp_path):
        model(torch.ones(1, 1))
        logging.raiseExceptions, before = False, logging.raiseExceptions
        logging.getLogger("a").warning("%s", Broken())
        logging.raiseExceptions = before


def test_files_are_bounded_and_what_is_dropped_is_counted(tmp_path: Path) -> None:
    logger = logging.getLogger("much")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="logged", spool=tmp_path):
        model(torch.ones(1, 1))
        for _ in range(1200):
            logger.warning("x" * (64 << 10))
        assert sum(path.stat().st_size for path in tmp_path.glob("*.logging")) < 70 << 20
        for path in tmp_path.glob("*.logging"):  # an agent has read them
            path.unlink()
        logger.warning("again")


def test_records_are_kept_only_where_they_are_wanted(tmp_path: Path) -> None:
    before, model = logging.Logger.callHandlers, nn.Linear(1, 1)
    with tensortap.tap(model, run="logged", spool=tmp_path, logging=False):
        model(torch.ones(1, 1))
        assert logging.Logger.callHandlers is before
        logging.getLogger("a").warning("nobody keeps this")
    assert not list(tmp_path.glob("*.logging"))


_KILLED = """
import logging, os, sys, torch, tensortap
logger = logging.getLogger("a")
logger.propagate = False
logger.addHandler(logging.NullHandler())
model = torch.nn.Linear(1, 1)
with tensortap.tap(model, run="logged", spool=sys.argv[1]):
    model(torch.ones(1, 1))
    for number in range(20_000):
        logger.warning("line %d of many, \u4f60\u597d", number)
    if not os.fork():
        logger.warning("of a child")
        os._exit(0)
    os.wait()
    logger.warning("the last")
    os.kill(os.getpid(), 9)
"""


def test_records_of_a_killed_process_are_there(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False, timeout=300)
    (path,) = tmp_path.glob("*.logging")
    written, _, rest = path.read_bytes().partition(b"\0")
    records = [json.loads(line) for line in written.splitlines()]
    assert [record["m"] for record in records[1:]] == [f"line {n} of many, \u4f60\u597d" for n in range(20_000)] + ["the last"]
    assert not rest.strip(b"\0") and written.endswith(b"\n")


def test_threads_that_log_at_once_lose_nothing(tmp_path: Path) -> None:
    logger = logging.getLogger("threads")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    model = nn.Linear(1, 1)

    def log(thread: int) -> None:
        for number in range(5000):
            logger.warning("%d %d %s", thread, number, "x" * 60)

    with tensortap.tap(model, run="logged", spool=tmp_path):
        model(torch.ones(1, 1))
        threads = [threading.Thread(target=log, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    told = {record["m"].rsplit(" ", 1)[0] for record in _records(tmp_path)[1:]}
    assert told == {f"{thread} {number}" for thread in range(4) for number in range(5000)}
