"""Be a process that answers one request and one poke, through the collector's own page: ROOT RUN. Needs no torch."""

import sys
import time
from pathlib import Path

from tensortap._health import thread_stacks
from tensortap._spool import layout
from tensortap._spool.spool import Spool

root, run = sys.argv[1:]
spool = Spool(Path(root))
spool.define("run", {"name": run, "labels": {}})
spool.define("rank", {"rank": 1, "host": "here", "pid": 1})
deadline, asked, poked = time.monotonic() + 20, None, False
while time.monotonic() < deadline and (asked is None or not poked):
    spool.heartbeat()
    if asked is None and spool.control.sequence():
        asked = spool.control.request()
    if poke := spool.control.poke():
        thread_stacks.write(spool.folder / "stacks")
        spool.control.poked(poke)
        poked = True
    time.sleep(0.005)
assert asked is not None
spool.control.answer(asked[0], layout.REFUSED, 5, "✗" * 100 + asked[1].decode())
print(asked[1].decode(), flush=True)
sys.stdin.read()
spool.close()
