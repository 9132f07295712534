"""Records of logging are written by the kernel as by Python, and one that nobody keeps is not even formatted."""

from __future__ import annotations

import json
import logging
import signal
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tensortap._record.logged import Logged
from tensortap._spool.writers import BY_PYTHON, Writers
from tensortap._stats.kernel import load

KERNEL = load()
needs_kernel = pytest.mark.skipif(KERNEL is None, reason="make kernel")
TEXTS = (
    *("", "plain", 'a "quoted" \\ text', "tab\tline\nreturn\r\x00\x01\x1f\x7f end", "\u4f60\u597d \U0001f600 \u2028", "half a pair \ud800", "x" * 70_000),
    *(chr(code) * 3 for code in range(0x20)),
)


def _written(spool: Path, writers: Writers, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    errors: list[str] = []
    logged = Logged(spool / name, {}, lambda: "", lambda what, error: errors.append(f"{what}: {error}"), writers)
    logged.step = 7
    logger = logging.getLogger("lines")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    logged.install()
    try:
        for text in TEXTS:
            logger.warning(text)
            logger.warning("%s %d", text, 3, extra={"shape": text})
    finally:
        logged.close()
    lines = (spool / f"{name}.0.logging").read_bytes().splitlines()[1:]
    return [json.loads(line) | {"t": 0, "i": 0} for line in lines], errors


@needs_kernel
def test_the_kernel_writes_what_python_writes(tmp_path: Path) -> None:
    assert KERNEL
    by_kernel, by_python = _written(tmp_path, KERNEL.writers, "kernel"), _written(tmp_path, BY_PYTHON, "python")
    assert len(by_kernel[0]) == 2 * len(TEXTS)
    assert by_kernel == by_python and not by_kernel[1]


@needs_kernel
def test_the_kernel_writes_nothing_where_there_is_no_room(tmp_path: Path) -> None:
    assert KERNEL
    written, errors = 0, []
    logged = Logged(tmp_path / "s", {}, lambda: "", lambda what, error: errors.append((what, error)), KERNEL.writers)
    logger = logging.getLogger("much of it")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    logged.install()
    try:
        for number in range(3000):
            logger.warning("%d %s", number, '"' * (number % 4000))
            written += 1
    finally:
        logged.close()
    lines = [line for line in (tmp_path / "s.0.logging").read_bytes().splitlines()[1:] if line]
    assert [int(json.loads(line)["m"].split(" ")[0]) for line in lines] == list(range(written)) and not errors


@needs_kernel
def test_a_handler_of_a_signal_may_log_while_somebody_logs(tmp_path: Path) -> None:
    assert KERNEL
    errors: list[object] = []
    logged = Logged(tmp_path / "s", {}, lambda: "", lambda what, error: errors.append((what, error)), KERNEL.writers)
    logger = logging.getLogger("by signals")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    signals = 0

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        logger.warning("of a signal %s", "y" * 400)

    before = signal.signal(signal.SIGALRM, handle)
    logged.install()
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0005)
    try:
        number = 0
        while signals < 100:
            logger.warning("line %d %s", number, "x" * 300)
            number += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        logged.close()
    records = [json.loads(line)["m"] for path in tmp_path.glob("*.logging") for line in path.read_bytes().splitlines()[1:]]
    assert sum(text.startswith("of a signal") for text in records) == signals
    assert sum(text.startswith("line") for text in records) == number and not errors


def test_a_record_that_finds_no_room_is_not_formatted(tmp_path: Path) -> None:
    class Counted:
        count = 0

        def __str__(self) -> str:
            Counted.count += 1
            return "x" * (64 << 10)

    logged = Logged(tmp_path / "s", {}, lambda: "", lambda _what, _error: None)
    logger = logging.getLogger("full")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    logged.install()
    logger.warning("%s", Counted())
    (tmp_path / "s.0.logging").rename(tmp_path / "s.4.logging")
    logged.close()
    for number in range(3):
        (tmp_path / f"s.{number}.logging").touch()
    logged = Logged(tmp_path / "s", {}, lambda: "", lambda _what, _error: None)
    logged.install()
    try:
        for _ in range(50):
            logger.warning("%s", Counted())
    finally:
        logged.close()
    assert Counted.count <= 3  # the first of both, and once a second
