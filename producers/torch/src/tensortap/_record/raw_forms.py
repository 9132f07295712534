"""The forms in which a raw tensor is written: safetensors, npy, and pt, which is that of torch.save."""

from __future__ import annotations

import ctypes
import os
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

import torch
from torch import Tensor

from tensortap._record import safetensors
from tensortap._stats.digest import raw_bytes

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
HEADS: Final[Mapping[str, int]] = {"safetensors": 192, "npy": 128, "pt": 1200}  # bytes of a file beside the elements, about
_NPY_ALIGNMENT: Final = 64
_LIBC: Final = ctypes.CDLL(None)
_SYNC_FILE_RANGE_WRITE: Final = 2
_NPY_MAGIC: Final = b"\x93NUMPY\x01\x00"


class Write(Protocol):
    """Writes a CPU tensor that alone is in its storage, and returns the CRC-32 of the elements as they are in the file."""

    def __call__(self, file: BinaryIO, tensor: Tensor, about: Mapping[str, str]) -> int:
        """Raises OSError, or RuntimeError where torch writes."""
        ...


def form(wanted: str, dtype: torch.dtype) -> tuple[str, Write]:
    """The form that is wanted: how its files' names end, and what writes them. pt where safetensors has no name for the dtype."""
    if wanted == "npy":
        return "npy", _npy
    if wanted == "safetensors" and safetensors.dtype_name(dtype):
        return "safetensors", as_safetensors
    return "pt", _pt


def create(path: Path, write: Write, tensor: Tensor, about: Mapping[str, str]) -> tuple[int, int]:
    """Write a file that is not there yet. Its size, and the checksum of its elements. Raises as write does, and leaves nothing then."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with ExitStack() as failing:
        failing.callback(path.unlink, missing_ok=True)  # a file that is cut does not stay
        with open(descriptor, "wb") as opened:
            checksum = write(cast(BinaryIO, opened), tensor, about)
            size = opened.tell()
            opened.flush()
            _begin_writeback(opened.fileno())
        failing.pop_all()  # closing may fail, too, where a disk is remote
    return size, checksum


def _begin_writeback(descriptor: int) -> None:
    """Have the disk begin at once: the system would let all wait in memory, and then everybody for the disk."""
    begin: Any = getattr(_LIBC, "sync_file_range", None)
    if begin is not None:
        begin(descriptor, ctypes.c_int64(0), ctypes.c_int64(0), _SYNC_FILE_RANGE_WRITE)


def content_of(tensor: Tensor) -> ctypes.Array[ctypes.c_char] | bytes:
    """The elements, where they lie. Not by numpy, which a process with torch need not have."""
    elements = raw_bytes(tensor)
    return (ctypes.c_char * elements.numel()).from_address(elements.data_ptr()) if elements.numel() else b""


def as_safetensors(file: BinaryIO, tensor: Tensor, about: Mapping[str, str]) -> int:
    """See Write."""
    return _written(file, safetensors.header(tensor, about), tensor)


def _npy(file: BinaryIO, tensor: Tensor, about: Mapping[str, str]) -> int:
    """What NumPy has no name for, as bfloat16, becomes float32, as with msProbe: that is exact."""
    if _npy_name(tensor) is None:
        tensor = tensor.to(torch.float32)
    # A tuple of one needs its comma, which Python's own text of it has.
    text = f"{{'descr': '{_npy_name(tensor)}', 'fortran_order': False, 'shape': {tuple(tensor.shape)!r}, }}"
    room = -(len(_NPY_MAGIC) + 2 + len(text) + 1) % _NPY_ALIGNMENT
    described = (text + " " * room + "\n").encode()
    return _written(file, _NPY_MAGIC + len(described).to_bytes(2, "little") + described, tensor)


def _npy_name(tensor: Tensor) -> str | None:
    return _NPY.get(str(tensor.dtype).removeprefix("torch."))


def _written(file: BinaryIO, head: bytes, tensor: Tensor) -> int:
    content = content_of(tensor)
    file.write(head)
    file.write(content)
    return zlib.crc32(content)


def _pt(file: BinaryIO, tensor: Tensor, about: Mapping[str, str]) -> int:
    torch.save(tensor, file)
    return zlib.crc32(content_of(tensor))
