"""Writes a spool as the collector does, for the agent's tests: write_spool.py ROOT RUN STEPS MODULES."""

from __future__ import annotations

import ctypes
import sys
import time
from pathlib import Path

from tensortap._spool import layout
from tensortap._spool.records import commit_word
from tensortap._spool.spool import Spool


def tensor(spool: Spool, site: int, shape: int, seq: int, value: float) -> None:
    """One tensor with counts behind it."""
    address = spool.reserve()
    rows = (ctypes.c_char * (2 * layout.RECORD_BYTES)).from_address(address)
    layout.COUNTS.pack_into(rows, layout.RECORD_BYTES, 1, 0, 0, 0, value, value)
    layout.TENSOR.pack_into(rows, 0, site, shape, seq, 2047, value, value, value, 0.0, abs(value), 0, 1)
    words = (ctypes.c_uint32 * 32).from_address(address)
    for word, kind in ((31, layout.COUNTS_KIND), (15, layout.TENSOR_KIND)):
        words[word] = commit_word(kind, spool.place, ctypes.string_at(address + 4 * word - layout.COMMIT_OFFSET, layout.COMMIT_OFFSET))
    spool.advance(2)


def step(spool: Spool, number: int, modules: int) -> None:
    """One step: modules in a root, each with a tensor and a literal."""
    spool.step(number)
    spool.write(layout.STEP_KIND, layout.STEP, number, layout.STEP_BEGINS, time.time_ns(), 0, 0, 0, 0, 0, 0, 0)
    shape = spool.define("layout", {"kind": "tensor", "dtype": "torch.float32", "shape": [], "requires_grad": None, "count": 1})
    half = spool.define("layout", {"kind": "float", "literal": "0.5"})
    root = spool.define("op", {"name": "Module.model.Model.forward.0"})
    spool.op(root, 0, 1, 0, 0, layout.OP_OPENS)
    for i in range(modules):
        op = spool.define("op", {"name": f"Module.layers.{i}.Linear.forward.0"})
        stack = spool.define("stack", {"frames": [f"line {i}", "in ☃"]})
        spool.op(op, root, i + 2, stack, 0, 0)
        tensor(spool, spool.define("site", {"op": op, "role": "output", "path": "0"}), shape, i + 2, number + i / 1024)
        spool.literal(spool.define("site", {"op": op, "role": "input", "path": "1"}), half, i + 2)
    spool.op(root, 0, 1, 0, 0, layout.OP_ENDS)
    ends = (number, layout.STEP_ENDS, time.time_ns(), modules + 1, 2 * modules, 0, 0, 0, spool.text("train"), 1001 + number)
    spool.step_ends(spool.hold(layout.STEP, *ends))


def main(root: str, run: str, steps: str, modules: str) -> None:
    """Writes it all."""
    spool = Spool(Path(root), segments=1000, segment_rows=64)
    spool.define("run", {"name": run, "labels": {"α": "β"}, "world_size": None})
    spool.define("rank", {"rank": 3, "tp": None, "tp_size": 2})
    for number in range(int(steps)):
        step(spool, number, int(modules))
        spool.heartbeat()
    spool.close()


main(*sys.argv[1:])
