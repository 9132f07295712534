"""Ops that others have added to torch. They may write into tensors without raising the versions by which changes are known."""

from __future__ import annotations

from typing import Any, Final

import torch
import torch.distributed as dist

# Namespaces of torch, and of its libraries for images and sound, whose ops write only where versions tell. Those of its collectives do not.
TRUSTED: Final = frozenset(
    ("aten", "prim", "prims", "rngprims", "debugprims", "profiler", "inductor", "quantized", "_quantized", "mkldnn", "mkl", "onednn")
    + ("mkldnn_prepacked", "prepacked", "coor", "export", "flex_gemm", "debug_mode_ops", "_native", "torchvision", "image", "torchaudio")
    + ("flex_lib", "mempool", "streams", "onnx", "onnx_symbolic")
)
# Namespaces of torch's collectives, of which torch asks for ops as it is imported: none can run before there is a process group.
_OF_GROUPS: Final = frozenset(("c10d", "_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "_dtensor", "fsdp", "symm_mem"))


class CustomOps:
    """Whether this process has asked torch for an op of others, which it may then run at any time."""

    def __init__(self) -> None:
        self._namespaces = 0
        self._others: list[Any] = []
        self._of_groups: list[Any] = []
        self._asked = False

    def may_run(self) -> bool:
        """Whether one may have run since a tensor was read. Asked for each tensor that is met again, so it is quick."""
        if self._asked:
            return True
        names: list[str] = torch.ops._dir
        if len(names) != self._namespaces:
            self._namespaces = len(names)
            self._others = [getattr(torch.ops, name) for name in names if name not in TRUSTED | _OF_GROUPS]
            self._of_groups = [getattr(torch.ops, name) for name in names if name in _OF_GROUPS]
        self._asked = _is_asked(self._others) or (_has_group() and _is_asked(self._of_groups))
        return self._asked


def _is_asked(namespaces: list[Any]) -> bool:
    for namespace in namespaces:
        if namespace._dir:
            return True
    return False


def _has_group() -> bool:
    return dist.is_available() and dist.is_initialized()
