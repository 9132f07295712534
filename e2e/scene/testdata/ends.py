"""Programs that end otherwise than a training does: a worker that fails, says so in its engine's form and exits; a server that its user ends while it is idle."""

import logging
import multiprocessing
import os
import signal
import sys
import time
import traceback

import torch
from torch import nn

import tensortap

torch.set_num_threads(1)


def step():
    """With a tap in the code, which says where a step ends: what comes then is idle. Below run --as-msprobe nothing else taps it."""
    with tensortap.tap(model := nn.Sequential(nn.Linear(4, 4), nn.ReLU())) as tap:
        for _number in range(3):
            model(torch.ones(1, 4))
            tap.step()
        yield
    yield


class EachLine(logging.Formatter):
    """As vLLM's: the head of a message is before each of its lines."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        head = text[: text.index(record.getMessage())]
        return text.replace("\n", "\n" + head)


def vllm() -> None:
    log = logging.getLogger("vllm.v1.engine.core")
    handler = logging.StreamHandler()
    handler.setFormatter(EachLine("%(levelname)s %(asctime)s [%(filename)s:%(lineno)d] %(message)s", "%m-%d %H:%M:%S"))
    log.addHandler(handler)
    computed = step()
    next(computed)
    try:
        raise RuntimeError("no blocks are left")
    except RuntimeError:
        log.exception("EngineCore encountered a fatal error.")
    next(computed)


def sglang() -> None:
    log = logging.getLogger("sglang.srt.managers.scheduler")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(asctime)s TP0] %(message)s", "%Y-%m-%d %H:%M:%S"))
    log.addHandler(handler)
    computed = step()
    next(computed)
    try:
        raise RuntimeError("no pages are left")
    except RuntimeError:
        log.error(f"Scheduler hit an exception: {traceback.format_exc()}")
    os.kill(os.getpid(), signal.SIGKILL)


def idle(ready: str) -> None:
    """Ends well on Ctrl-C, and without a word."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    next(computed := step())
    open(ready, "w").close()
    while computed:
        time.sleep(0.1)


if __name__ == "__main__":
    if sys.argv[1] == "idle":
        idle(sys.argv[2])
    else:
        worker = multiprocessing.get_context("spawn").Process(target={"vllm": vllm, "sglang": sglang}[sys.argv[1]])
        worker.start()
        worker.join()
