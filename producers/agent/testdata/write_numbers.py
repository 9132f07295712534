"""Writes numbers twice, as the definitions of old and as rows, for the agent's tests: write_numbers.py ROOT."""

from __future__ import annotations

import math
import random
import struct
import sys
import time
from pathlib import Path

from tensortap._spool import layout
from tensortap._spool.spool import Spool

WORDS = {math.inf: "Infinity", -math.inf: "-Infinity"}
INTS = (0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 1e-4, 9.999e-5, 1e-5, 1e15, 123456789012345678.0, 9999999999999998.0, 1e16, 1e22, 5e-324, 1.7976931348623157e308)


def floats() -> list[float]:
    """Those at which the text changes, and others of any bits and of a schedule."""
    anyhow = random.Random(1)
    bits = (struct.unpack("<d", anyhow.randbytes(8))[0] for _ in range(2000))
    return [*FLOATS, math.inf, -math.inf, math.nan, *bits, *(1e-3 * 0.999**step for step in range(2000))]


def text(value: float) -> str:
    """As argument_trees describes it, which needs torch."""
    return "NaN" if value != value else WORDS.get(value) or repr(value)


def main(root: str) -> None:
    """Writes it all in one step."""
    spool = Spool(Path(root), segments=1000, segment_rows=1024)
    spool.define("run", {"name": "numbers", "labels": {}, "world_size": None})
    spool.define("rank", {"rank": 0})
    spool.write(layout.STEP_KIND, layout.STEP, 0, layout.STEP_BEGINS, time.time_ns(), 0, 0, 0, 0, 0, 0, 0)
    op = spool.define("op", {"name": "Torch.add.0.forward"})
    site = spool.define("site", {"op": op, "role": "input", "path": "0"})
    spool.op(op, 0, 1, 0, 0, 0)
    for kind, values in ("int", INTS), ("float", floats()):
        for value in values:
            spool.literal(site, spool.define("layout", {"kind": kind, "literal": text(value)}), 1)
            whole, real = (int(value), 0.0) if kind == "int" else (0, value)
            spool.number(site, spool.define("layout", {"kind": kind, "literal": ""}), whole, real, 1)
    spool.step_ends(spool.hold(layout.STEP, 0, layout.STEP_ENDS, time.time_ns(), 1, spool.tensors, 0, 0, 0, 0, 0))
    spool.close()


main(*sys.argv[1:])
