"""What programs use of msprobe.pytorch, done by tensortap."""

from __future__ import annotations

import os
import random
import sys

import torch

from tensortap import PrecisionDebugger
from tensortap._session.notices import Notices

__all__ = ["PrecisionDebugger", "seed_all"]

_notices = Notices()


def seed_all(seed: int = 1234, mode: bool = False, rm_dropout: bool = False, **others: object) -> None:
    """Seed all generators; with mode, have PyTorch take deterministic algorithms, or else warn.

    Dropout is left as it is, which is said.
    """
    os.environ["PYTHONHASHSEED"] = str(seed)  # of Pythons that this one starts
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    torch.manual_seed(seed)
    if mode:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.benchmark = False
    if unknown := [name for name, asked in {"rm_dropout": rm_dropout, **others}.items() if asked]:
        _notices.say(f"seed_all({', '.join(unknown)}) is not honoured")


_notices.say("msprobe in this process is tensortap, as asked with --as-msprobe")
