"""Runs programs, each in a fork of one process: `run.py FOLDER NAME…` writes what each leaves into FOLDER/NAME.

Below the launcher's environment they are recorded. A program ends as programs end: what it raises is Python's to print.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import sys
import threading
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy  # noqa: E402
import torch  # noqa: E402

with warnings.catch_warnings():
    import torch._dynamo
    import torch.export
    import torch.fx.experimental.proxy_tensor
    import torch.package
    import torch.utils.flop_counter
    import transformers.models.llama.modeling_llama

from same import around, models, training  # noqa: E402, F401
from same.showing import PROGRAMS, show_generators  # noqa: E402


def status_of(name: str, folder: Path) -> int | None:
    """Run a program in a child, and return its status; None in the child, whose program then runs."""
    folder.mkdir(parents=True)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    os.chdir(folder)
    for stream, ending in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"../{folder.name}.{ending}", os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    return None


def main(folder: Path, names: list[str]) -> str:
    """Run the programs; in a child, return the name of the one to be run."""
    statuses = {}
    for name in names or PROGRAMS:
        statuses[name] = status_of(name, folder / name)
        if statuses[name] is None:
            return name
        (folder / "statuses.json").write_text(json.dumps(statuses))
    return ""


def end(failure: BaseException | None) -> None:
    """End as Python does, but for taking down all that was imported, which takes longer than the program."""
    status = 0
    if isinstance(failure, SystemExit):
        status = failure.code if isinstance(failure.code, int) else 1
    elif failure is not None:
        sys.excepthook(type(failure), failure, failure.__traceback__)
        sys.last_value = failure
        status = 130 if isinstance(failure, KeyboardInterrupt) else 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()  # a look at all objects would take longer than the programs, too
    if chosen := main(Path(sys.argv[1]), sys.argv[2:]):
        torch.manual_seed(7)
        random.seed(7)
        numpy.random.seed(7)  # noqa: NPY002
        try:
            PROGRAMS[chosen]()
            show_generators()
        except BaseException as raised:  # whatever a program raises is looked at as Python would
            end(raised)
        end(None)
