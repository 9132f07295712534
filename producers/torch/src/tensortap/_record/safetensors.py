"""Writes one tensor into a file of the safetensors format: a header in JSON, then the elements."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from tensortap._stats.digest import raw_bytes

_ALIGNMENT: Final = 8
_NAMES: Final[Mapping[str, str]] = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "complex64": "C64",
}
NAME: Final = "tensor"  # of the one tensor in the file


def dtype_name(dtype: torch.dtype) -> str:
    """What the format calls the dtype; empty when it has no name for it."""
    return _NAMES.get(str(dtype).removeprefix("torch."), "")


def header(tensor: Tensor, about: Mapping[str, str]) -> bytes:
    """What comes before the elements, its length included."""
    entry = {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "data_offsets": [0, tensor.nbytes]}
    text = json.dumps({"__metadata__": dict(about), NAME: entry}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return struct.pack("<Q", len(text)) + text


def write(path: Path, tensor: Tensor, head: bytes) -> int:
    """Write a file that is not there yet. Returns the CRC-32 of the elements. Raises OSError, and leaves nothing then."""
    elements = raw_bytes(tensor.cpu())
    # Not by numpy, which a process with torch need not have.
    content = (ctypes.c_char * elements.numel()).from_address(elements.data_ptr()) if elements.numel() else b""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        try:
            file.write(head)
            file.write(content)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    return zlib.crc32(content)
