"""What is said of values that are no tensors."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, Final

import torch
import torch.distributed as dist

_LONGEST_TEXT: Final = 4096


def describe(value: object) -> tuple[str, str, str]:
    """Kind, dtype and literal of the layout of a value that is no tensor, as the importer of msProbe's dumps has them."""
    match value:
        case None:
            return "none", "", ""
        case bool():
            return "bool", "", "true" if value else "false"
        case int():
            return "int", "", str(int(value))
        case float():
            return "float", "", _float(value)
        case str():
            return "str", "", value[:_LONGEST_TEXT]
        case slice():
            return "slice", "", json.dumps([_bound(part) for part in (value.start, value.stop, value.step)], separators=(",", ":"))
        case torch.Size():
            return "size", "", json.dumps([int(size) for size in value], separators=(",", ":"))
        case torch.dtype():
            return "dtype", "", str(value)
        case torch.device():
            return "device", "", f"{value.type}:{value.index}"  # cpu:None, as msProbe writes it
        case _:
            return _described_by_type(value)


def _described_by_type(value: Any) -> tuple[str, str, str]:
    kind = type(value)
    if value is Ellipsis:
        return "other", "ellipsis", "..."
    if isinstance(value, torch.memory_format):
        return "other", "torch.memory_format", str(value).removeprefix("torch.")
    if dist.is_available() and isinstance(value, dist.ProcessGroup):
        return "group", "", _group(value)
    if dist.is_available() and isinstance(value, (dist.ReduceOp, dist.ReduceOp.RedOpType)):
        return "other", "torch.distributed.ReduceOp", str(value)
    if kind.__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        plain = float(value) if kind.__name__ == "longdouble" else value.item()  # its item is of the same type
        if type(plain) is not kind:
            described = describe(plain)
            return described[0], kind.__name__, described[2]
    return "other", type_name(kind), ""


def type_name(kind: type) -> str:
    """With its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float.__repr__(value)


def _bound(part: object) -> int | None:
    return int(part) if isinstance(part, int) else None  # a tensor's value is not asked for: that would wait for a device


def _group(group: Any) -> str:
    ranks = dist.get_process_group_ranks(group)
    return json.dumps({"group_ranks": ranks, "group_id": f"{zlib.crc32(str(ranks).encode()):08x}"}, separators=(",", ":"))
