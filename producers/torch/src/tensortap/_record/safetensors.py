"""The safetensors format of a file with one tensor: a header in JSON, then the elements."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

ALIGNMENT: Final = 8  # of the header, at least
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
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))
_LENGTH: Final = struct.Struct("<Q")
NAME: Final = "tensor"  # of the one tensor in the file


def dtype_name(dtype: torch.dtype) -> str:
    """What the format calls the dtype; empty when it has no name for it."""
    return _NAMES.get(str(dtype).removeprefix("torch."), "")


def header(tensor: Tensor, about: Mapping[str, str], alignment: int = ALIGNMENT) -> bytes:
    """What comes before the elements, its length included, which is a multiple of the alignment."""
    entry = {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "data_offsets": [0, tensor.nbytes]}
    text = _ENCODER.encode({"__metadata__": dict(about), NAME: entry}).encode()
    text += b" " * (-(_LENGTH.size + len(text)) % alignment)
    return _LENGTH.pack(len(text)) + text
