"""The forms in which a raw tensor is written: safetensors, npy, and pt, which is that of torch.save."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final, Protocol

import torch
from torch import Tensor

from tensortap._record import raw_writing, safetensors

_NPY: Final[Mapping[str, str]] = {
    "bool": "|b1",
    "uint8": "|u1",
    "int8": "|i1",
    "uint16": "<u2",
    "int16": "<i2",
    "uint32": "<u4",
    "int32": "<i4",
    "uint64": "<u8",
    "int64": "<i8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}
HEADS: Final[Mapping[str, int]] = {"safetensors": 192, "npy": 128, "pt": 1200}  # bytes of a file beside few elements, about
_NPY_ALIGNMENT: Final = 64
_NPY_MAGIC: Final = b"\x93NUMPY\x01\x00"


class Write(Protocol):
    """Writes a CPU tensor that alone is in its storage, in row-major order, into a file that is not there yet."""

    def __call__(self, path: str, tensor: Tensor, about: Mapping[str, str], *, past_memory: bool = False) -> tuple[int, int]:
        """The file's size, and the CRC-32 of the elements as they are in it. Raises OSError, or RuntimeError where torch writes, and leaves nothing then.

        past_memory is as in raw_writing.create.
        """
        ...


def form(wanted: str, dtype: torch.dtype) -> tuple[str, Write]:
    """The form that is wanted: how its files' names end, and what writes them. pt where safetensors has no name for the dtype."""
    if wanted == "npy":
        return "npy", _npy
    if wanted == "safetensors" and safetensors.dtype_name(dtype):
        return "safetensors", as_safetensors
    return "pt", _pt


def head_bytes(suffix: str, size: int) -> int:
    """The bytes of a file beside so many of elements, about."""
    return HEADS[suffix] if suffix == "pt" else max(HEADS[suffix], raw_writing.alignment(size, 1))


def as_safetensors(path: str, tensor: Tensor, about: Mapping[str, str], *, past_memory: bool = False) -> tuple[int, int]:
    """See Write."""
    head = safetensors.header(tensor, about, raw_writing.alignment(tensor.nbytes, safetensors.ALIGNMENT))
    return raw_writing.create(path, head, tensor, past_memory=past_memory)


def _npy(path: str, tensor: Tensor, about: Mapping[str, str], *, past_memory: bool = False) -> tuple[int, int]:
    """What NumPy has no name for, as bfloat16, becomes float32, as with msProbe: that is exact."""
    if _npy_name(tensor) is None:
        tensor = tensor.to(torch.float32)
    # A tuple of one needs its comma, which Python's own text of it has.
    text = f"{{'descr': '{_npy_name(tensor)}', 'fortran_order': False, 'shape': {tuple(tensor.shape)!r}, }}"
    room = -(len(_NPY_MAGIC) + 2 + len(text) + 1) % raw_writing.alignment(tensor.nbytes, _NPY_ALIGNMENT)
    described = (text + " " * room + "\n").encode()
    return raw_writing.create(path, _NPY_MAGIC + len(described).to_bytes(2, "little") + described, tensor, past_memory=past_memory)


def _npy_name(tensor: Tensor) -> str | None:
    return _NPY.get(str(tensor.dtype).removeprefix("torch."))


def _pt(path: str, tensor: Tensor, about: Mapping[str, str], *, past_memory: bool = False) -> tuple[int, int]:
    with raw_writing.new_file(path) as file:
        torch.save(tensor, file)
        size = file.tell()
    return size, zlib.crc32(raw_writing.content_of(tensor))
