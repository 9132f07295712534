"""A process that is killed while it keeps raw tensors: what has a row is whole, and what is cut has none and shows it."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import reading

LEAST = 6  # files
KEEP = """
import sys, torch, tensortap
from torch import nn

model, given = nn.Sequential(nn.ReLU(), nn.Tanh()), torch.randn(1 << 20)
with tensortap.tap(model, run="r", spool=sys.argv[1], level="L0", task="tensor", payload_folder=sys.argv[2], budget="500MB") as tap:
    while True:
        model(given)
        tap.step()
"""


def _is_whole(path: Path) -> bool:
    """As its own head says."""
    content = path.read_bytes()
    if len(content) < 8:
        return False
    begin = 8 + struct.unpack_from("<Q", content)[0]
    return begin <= len(content) and begin + json.loads(content[8:begin])["tensor"]["data_offsets"][1] == len(content)


def test_what_has_a_row_is_whole_and_what_is_cut_shows_it(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KEEP, str(tmp_path / "spool"), str(tmp_path / "kept")], stderr=subprocess.DEVNULL)
    while len(list((tmp_path / "kept").glob("*/*"))) < LEAST:
        assert child.poll() is None
        time.sleep(0.001)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    rows = {row[3]: row for step in reading.only(tmp_path / "spool").steps for row in step.payloads}
    for _, _, _, location, size, checksum in rows.values():
        path = tmp_path / "kept" / location
        content = path.read_bytes()
        assert len(content) == size and _is_whole(path) and zlib.crc32(content[8 + struct.unpack_from("<Q", content)[0] :]) == checksum
    files = {f"{path.parent.name}/{path.name}": path for path in (tmp_path / "kept").glob("*/*")}
    cut = [location for location, path in files.items() if not _is_whole(path)]
    assert len(cut) <= 2 and not set(cut) & set(rows) and len(files) >= LEAST
