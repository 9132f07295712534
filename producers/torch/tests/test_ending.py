"""A process that multiprocessing starts ends as any other: it leaves without Python's exit handlers, and is no rank that died."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap._spool import layout

ENDED = 2
PROGRAM = """
import multiprocessing, sys
import torch
import tensortap

def child(spool):
    model = torch.nn.Linear(2, 2)
    tap = tensortap.tap(model, run="r", level="L0", spool=spool)
    model(torch.ones(1, 2)).sum().backward()

def heir(model):
    model(torch.ones(1, 2)).sum().backward()

if __name__ == "__main__":
    kind, spool = sys.argv[1:]
    if kind == "inherited":
        model = torch.nn.Linear(2, 2)
        tap = tensortap.tap(model, run="r", level="L0", spool=spool)
        process = multiprocessing.get_context("fork").Process(target=heir, args=(model,))
    else:
        process = multiprocessing.get_context(kind).Process(target=child, args=(spool,))
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


@pytest.mark.parametrize("kind", ["fork", "spawn", "inherited"])
def test_a_process_of_multiprocessing_ends(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    spool = tmp_path / "spool"
    subprocess.run([sys.executable, str(script), kind, str(spool)], check=True)
    states = [struct.unpack_from("<I", header.read_bytes(), layout.HEADER_STATE)[0] for header in spool.rglob("header")]
    assert states and set(states) == {ENDED}
