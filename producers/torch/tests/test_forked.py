"""Memory that a device may copy into, and its events, are its parent's in a child that was forked: freed there, PyTorch would ask the driver."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from torch import nn

import tensortap
from tensortap._record import raw_files
from tensortap._record.raw_memory import Copy
from tensortap._session.recording import Process


class _Event:
    """As one of CUDA that has not come: whoever frees it asks the driver."""

    def __init__(self, freed: int) -> None:
        self._freed = freed

    def query(self) -> bool:
        return False

    def synchronize(self) -> None:
        """It comes at once, to whoever waits."""

    def __del__(self) -> None:
        with suppress(OSError):  # the test has ended
            os.write(self._freed, b"freed")


def _awaits_a_loss(process: Process, event: _Event) -> None:
    process._measures._losses.expect(event.query, torch.ones(()))


def _writes_a_file(process: Process, event: _Event) -> None:
    """A copy that is on its way as the process forks."""
    files = process._raw._files
    assert files is not None
    memory = files.copies.memory
    buffer = memory.take(4, False)
    assert buffer is not None
    copy = Copy(memory, buffer, buffer.view(torch.float32), False)
    copy.comes(None, event)  # type: ignore[arg-type]
    files._pending.append(raw_files.File(copy, Path("/none"), "none", 0, lambda *_: (0, 0), {}, None))  # type: ignore[arg-type,return-value]


def _keeps_a_buffer(process: Process, event: _Event) -> None:
    """One that is free, to be used again."""
    files = process._raw._files
    assert files is not None
    files.copies.memory._free[0, True] = [event]  # type: ignore[list-item]


@pytest.mark.parametrize("holds", [_awaits_a_loss, _writes_a_file, _keeps_a_buffer])
def test_a_child_frees_nothing_of_a_device(holds: Callable[[Process, _Event], None], tmp_path: Path) -> None:
    hears, freed = os.pipe()
    os.set_blocking(hears, False)
    model = nn.Sequential(nn.Linear(3, 3))
    settings = {"task": "tensor", "payload_folder": tmp_path / "kept", "when": "loss>-1 or step=0"}
    with tensortap.tap(model, run="forks", spool=tmp_path / "spool", **settings) as tap:  # type: ignore[arg-type]
        model(torch.ones(2, 3))
        process = tap._steps.process
        assert process is not None
        holds(process, _Event(freed))
        del process
        child = os.fork()
        if not child:
            gc.collect()
            os._exit(0 if tap._steps.process is None else 1)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(BlockingIOError):
            os.read(hears, 5)
        files = tap._steps.process._raw._files if tap._steps.process else None
        assert files is not None
        files._pending.clear()
    os.close(hears)

