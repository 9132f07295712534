"""Pickles a module or an argument as far as that goes: what has no form on the disk is left out, and named."""

from __future__ import annotations

import copyreg
import pickle
import sys
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, SimpleNamespace
from typing import Any, Final

import torch
from torch import Tensor, nn

SHARDED_OVER_RANKS: Final = "it holds what is sharded over ranks"
_SHARDED: Final = frozenset(("DTensor", "ShardedTensorBase", "FlatParameter", "FSDPModule", "FullyShardedDataParallel"))
_MARKS: Final = ("_local_tensor", "_is_flat_param", "_fsdp_flattened", "_is_fsdp_managed_module")


def save(value: Any, path: Path) -> list[str]:
    """Write a file for `torch.load`. Returns the names of what is left out of it. Raises what values raise that pickle themselves."""
    left_out: dict[str, None] = {}

    class Pickler(_Pickler):
        whole, missing = value, left_out

    torch.save(value, path, pickle_module=SimpleNamespace(__name__="pickle", Pickler=Pickler, dumps=pickle.dumps))
    return list(left_out)


def is_sharded(value: object) -> bool:
    """Whether to copy or to pickle it may start collectives, on this rank alone: a DTensor, or what FSDP has taken."""
    if isinstance(value, Tensor | nn.Module):
        kinds = {kind.__name__ for kind in type(value).__mro__}
        return not kinds.isdisjoint(_SHARDED) or any(hasattr(value, name) for name in _MARKS)
    return False


class _Pickler(pickle.Pickler):
    """Refuses what would start collectives. In a module of an engine much has no form on the disk that its forward never asks for, as the group of its ranks."""

    whole: Any
    missing: dict[str, None]

    def reducer_override(self, value: Any) -> Any:
        """Called for each object, and its answer is how to pickle it."""
        if is_sharded(value):
            raise pickle.PicklingError(SHARDED_OVER_RANKS)
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            return NotImplemented if _has_name(value) else self._leaves_out(value)
        if type(value) in copyreg.dispatch_table:
            return NotImplemented
        return self._reduced(value)

    def _reduced(self, value: Any) -> Any:
        if value is self.whole:
            return NotImplemented
        try:
            return value.__reduce_ex__(2) if _has_name(type(value)) else self._leaves_out(value)
        except Exception:  # as values are the user's own, and say in ways of their own that they have no form
            return self._leaves_out(value)

    def _leaves_out(self, value: Any) -> Any:
        named = value if hasattr(value, "__qualname__") else type(value)
        name = f"{named.__module__}.{named.__qualname__}"
        self.missing[name] = None
        return SimpleNamespace, (), {"left_out": name}


def _has_name(value: Any) -> bool:
    """Whether another process finds a class or function by its name."""
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "builtins")
    for part in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is value
