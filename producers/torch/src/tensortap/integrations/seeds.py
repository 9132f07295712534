"""Generators of random numbers seeded, and deterministic algorithms: as a program asks by seed_all, or its launcher for it.

PyTorch is not imported here: below `tensortap run --seed` each generator is seeded as its module is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

GREATEST: Final = (1 << 32) - 1  # that numpy takes, and PYTHONHASHSEED
_WORKSPACE: Final = ":4096:8"  # with which cuBLAS gives the same sums each time
_DROPOUTS: Final = ("dropout", "dropout_", "feature_dropout", "feature_dropout_")
_REMOVED: Final = "_tensortap_removed"
_SEEDERS: Final = {"random": "seed", "numpy.random": "seed", "torch": "manual_seed"}


def seed_all(seed: int = 1234, mode: bool = False, rm_dropout: bool = False, **others: object) -> None:
    """Seed the generators of Python, numpy and PyTorch, as msProbe's function of this name does.

    With mode PyTorch takes deterministic algorithms, and warns where there is none. With rm_dropout the functions dropout, dropout2d
    and dropout3d drop nothing from here on. What else msProbe's function takes is said to be not honoured.
    """
    import torch

    os.environ["PYTHONHASHSEED"] = str(seed)  # of Pythons that this one starts
    for name in ("random", "numpy.random", "torch"):
        if module := sys.modules.get(name):
            _seed(module, seed)
    if mode:
        be_deterministic(torch)
    if rm_dropout:
        _remove_dropout()
    _tell_unknown(others)


def be_deterministic(torch: Any) -> None:
    """Have PyTorch take algorithms that give the same result each time, or warn."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", _WORKSPACE)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


def attach(module: ModuleType) -> None:
    """Called once a module of the program was imported that has a generator, or takes algorithms."""
    if asked := os.environ.get("TENSORTAP_SEED"):
        _seed(module, int(asked))
    if os.environ.get("TENSORTAP_DETERMINISTIC") and module.__name__ == "torch":
        be_deterministic(module)


def _seed(module: ModuleType, seed: int) -> None:
    getattr(module, _SEEDERS[module.__name__])(seed)


def _remove_dropout() -> None:
    """Let what torch.nn.functional calls drop nothing; its own functions stay the same, by which calls are known."""
    from torch.nn import functional

    functions: Any = functional._VF  # type: ignore[attr-defined]  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    for name in _DROPOUTS:
        original = getattr(functions, name)
        if not hasattr(original, _REMOVED):
            setattr(functions, name, _dropping_nothing(original))


def _dropping_nothing(original: Callable[..., Any]) -> Callable[..., Any]:
    def dropout(input: Any, p: float, train: bool) -> Any:  # noqa: A002 - as torch calls it
        return original(input, 0.0, train)

    setattr(dropout, _REMOVED, True)
    return dropout


def _tell_unknown(others: dict[str, object]) -> None:
    from tensortap._session.notices import Notices

    if unknown := [name for name, asked in others.items() if asked]:
        Notices().say(f"seed_all({', '.join(unknown)}) is not honoured")
