"""How much memory tensors hold: each storage once, whoever shares it, without a question to a device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn

_PLAIN: Final = frozenset((Tensor, nn.Parameter))
_DEEPEST: Final = 4  # of lists and dicts in a state of an optimizer


class Storages:
    """Bytes by device. One that was met before, in any sum of the same look, counts for nothing."""

    def __init__(self) -> None:
        self._met: set[int] = set()

    def new_bytes(self, values: Iterable[object]) -> dict[str, int]:
        """What these tensors hold that was not met yet, by the name of the device."""
        found: dict[torch.device, int] = {}
        self._take(values, _DEEPEST, found)
        return {str(device): held for device, held in found.items()}

    def _take(self, values: Iterable[object], deepest: int, found: dict[torch.device, int]) -> None:
        for value in values:
            if isinstance(value, Tensor):
                for part in (value,) if type(value) in _PLAIN and value.layout is torch.strided else _parts(value):
                    self._add(part, found)
            elif deepest and isinstance(value, dict | list | tuple | Mapping):
                self._take(value.values() if isinstance(value, Mapping) else value, deepest - 1, found)

    def _add(self, tensor: Tensor, found: dict[torch.device, int]) -> None:
        storage = tensor.untyped_storage()
        place = storage._cdata
        if place not in self._met:
            self._met.add(place)
            device = storage.device
            if device.type != "meta":  # as that of a fake tensor is
                found[device] = found.get(device, 0) + storage.nbytes()


def _parts(tensor: Any) -> Iterator[Tensor]:
    """The tensors with storages that one consists of: a shard's local part, what a subclass wraps, indices and values."""
    if tensor.layout is torch.sparse_coo:
        yield from (tensor._indices(), tensor._values())
    elif tensor.layout is not torch.strided:
        return
    elif type(tensor) in _PLAIN or not hasattr(tensor, "__tensor_flatten__"):
        yield tensor
    else:
        named = (getattr(tensor, name) for name in tensor.__tensor_flatten__()[0])
        for part in named:
            if isinstance(part, Tensor):  # a DTensor names its mesh, too
                yield from _parts(part)
