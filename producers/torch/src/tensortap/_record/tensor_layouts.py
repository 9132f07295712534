"""The layouts of tensors: what is defined of each once, and how the kernel reads it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from tensortap import _torch_compat
from tensortap._spool.spool import Spool
from tensortap._stats.measure import Measurer, Plan

_MOST_LAYOUTS: Final = 1 << 16
_MOST_PLACEMENTS: Final = 1 << 10
_PLAIN: Final = (Tensor, torch.nn.Parameter)
_functorch: Final[Any] = _torch_compat.functorch
is_wrapped: Final[Callable[[Tensor], bool]] = _functorch.is_functorch_wrapped_tensor


class Layout(NamedTuple):
    """Of tensors of one dtype, shape and so on; the number is 0 when it cannot be written."""

    number: int
    on_cpu: bool
    plan: Plan | None  # of plain tensors that the kernel reads where they are; complex ones may be conjugated lazily


class Layouts:
    """Those that are known. To be used where torch functions are not intercepted."""

    def __init__(self, spool: Spool, measurer: Measurer) -> None:
        self._spool, self._measurer = spool, measurer
        self._layouts: dict[object, Layout] = {}

    def measure_with(self, measurer: Measurer) -> None:
        """Measure with another from here on."""
        self._measurer = measurer
        self._layouts.clear()

    def of(self, tensor: Tensor) -> Layout:
        """That of a plain tensor. Raises RuntimeError for what has no storage or no strides: sparse, nested, wrapped."""
        key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.requires_grad, tensor.is_cpu or tensor.device)
        return self._layouts.get(key) or self._define(key, tensor)

    def of_unusual(self, tensor: Tensor) -> tuple[Tensor, Layout]:
        """The tensor that is measured for one that is no plain one, and the layout of that one."""
        wrapped, kind = tensor, ""
        while is_wrapped(tensor):
            kind = "BatchedTensor" if _functorch.is_batchedtensor(tensor) else "GradTrackingTensor"
            tensor = _functorch.get_unwrapped(tensor)
        placement = ""
        if not kind and type(tensor) not in _PLAIN:
            kind = type(tensor).__name__
            if kind == "DTensor":
                kind, placement = "torch.distributed.tensor.DTensor", _placement(tensor.device_mesh, tensor.placements)  # type: ignore[attr-defined]
                tensor = tensor._local_tensor  # type: ignore[attr-defined]
        key = (kind, placement, tensor.dtype, _shape(tensor), tensor.layout, wrapped.requires_grad, tensor.device)
        known = self._layouts.get(key)
        if known is None:
            known = self._define(key, tensor, kind, placement, wrapped.requires_grad)
        return tensor, known

    def _define(
        self, key: object, tensor: Tensor, kind: str = "", placement: str = "", requires_grad: bool | None = None
    ) -> Layout:
        number = self._spool.define(
            "layout",
            {
                "kind": "tensor",
                "dtype": str(tensor.dtype),
                "shape": [int(size) for size in _shape(tensor)],
                "stride_class": _stride_class(tensor),
                "device_kind": tensor.device.type,
                "requires_grad": tensor.requires_grad if requires_grad is None else requires_grad,
                "placement": placement,
                "literal": kind,
                "count": tensor.numel(),
            },
        )
        on_cpu = tensor.device.type == "cpu"
        plain = on_cpu and requires_grad is None and tensor.layout is torch.strided and not tensor.is_complex()
        known = Layout(number, on_cpu, self._measurer.plan(tensor, number) if plain and number else None)
        if number:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            self._layouts[key] = known
        return known


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape; empty where there is none, as parts differ."""
    return () if tensor.is_nested and tensor.layout is torch.strided else tuple(tensor.shape)


def _stride_class(tensor: Tensor) -> str:
    if tensor.layout is not torch.strided or tensor.is_nested:
        return str(tensor.layout).removeprefix("torch.")
    if tensor.is_contiguous():
        return "contiguous"
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    if any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)):
        return "expanded"
    return "strided"


@lru_cache(maxsize=_MOST_PLACEMENTS)
def _placement(mesh: Any, placements: tuple[Any, ...]) -> str:
    """The mesh and placements of a DTensor, as msProbe writes them; a mesh may be of thousands of ranks."""
    ranks = ",".join(str(rank) for rank in mesh.mesh.flatten().tolist())
    return f'{{"device_mesh":[{ranks}],"placements":[{",".join(map(_one_placement, placements))}]}}'


def _one_placement(placement: Any) -> str:
    if placement.is_shard():
        return f'{{"Shard":{{"dim":{placement.dim}}}}}'
    if placement.is_partial():
        return f'{{"Partial":{{"reduce_op":"{placement.reduce_op}"}}}}'
    return '{"Replicate":{}}'
