"""Prints from several processes, one of which is killed, and captures what another prints."""

import multiprocessing
import os
import signal
import subprocess
import sys

import torch


def child(kind: str) -> None:
    print("child by", kind)
    sys.stdout.flush()
    os.write(2, b"native words\n")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    captured = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True)
    print("captured", captured.stdout.strip(), flush=True)
    subprocess.run(["sh", "-c", "echo by a shell"], check=True)
    for kind in ("fork", "spawn"):
        process = multiprocessing.get_context(kind).Process(target=child, args=(kind,))
        process.start()
        process.join()
    torch.nn.Linear(2, 2)(torch.ones(1, 2))
    print("last words")
