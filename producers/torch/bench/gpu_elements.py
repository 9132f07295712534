"""Tensors of every dtype and layout: measured on the device, they have the statistics that the C kernel finds on the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator

import torch
from gpu_device import Device
from torch import Tensor

from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._stats.measure import MAX_ROWS, Measurer

DTYPES = (
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex32 complex64 complex128"
).split()
SIZES, SMALL = (0, 1, 1000, 70_001, 3_000_000), (0, 300)
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda flat: flat[: flat.numel() // 60 * 60].reshape(-1, 60).t(),
    "every other": lambda flat: flat[::2],
    "not aligned": lambda flat: flat[1:],
    "expanded": lambda flat: flat[:50].reshape(50, 1).expand(50, 30),
    "channels last": lambda flat: flat[: flat.numel() // 60 * 60].reshape(-1, 3, 5, 4).to(memory_format=torch.channels_last),
    "permuted": lambda flat: flat[: flat.numel() // 60 * 60].reshape(-1, 12, 5).permute(2, 0, 1),
    "overlapping": lambda flat: flat.as_strided((20, 30), (10, 1)),
    "no dimension": lambda flat: flat[0],
    "a part of a page": lambda flat: flat[100:],
}
_FIELDS = ("minimum", "maximum", "mean", "m2", "l1")


def problems(device: Device, names: Collection[str] = DTYPES) -> Iterator[str]:
    """What is not as on the host. Small in the interpreter, where test_triton.py has more."""
    host, there = Measurer(1, True, True), device.measurer(True, True)
    for name, tensor in tensors(SMALL if device.is_interpreted else SIZES, 300 if device.is_interpreted else 2501, names):
        yield from differences(name, records(host, tensor), records(there, _moved(tensor, device)))


def tensors(sizes: tuple[int, ...], most: int, names: Collection[str]) -> Iterator[tuple[str, Tensor]]:
    """Each with its name."""
    chance = torch.Generator().manual_seed(5)
    for name in (name for name in names if hasattr(torch, name)):
        for size in sizes:
            numbers = torch.randn(size, generator=chance).mul(20)
            yield f"{name} of {size}", (numbers.abs() if name.startswith("uint") else numbers).to(getattr(torch, name))
    if len(names) < len(DTYPES):
        return
    flat = torch.randn(most, generator=chance)
    for dtype in (torch.float32, torch.bfloat16):
        yield from ((f"{name}, {dtype}", change(flat.to(dtype))) for name, change in LAYOUTS.items())
    yield "conjugated", torch.randn(300, dtype=torch.complex64, generator=chance).conj()
    yield "negative", torch.randn(300, dtype=torch.complex64, generator=chance).conj().imag
    yield "not finite", torch.tensor([1.0, float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-42] * 40)
    yield "nothing finite", torch.full((40,), float("nan"))
    yield "great mean", torch.randn(most, generator=chance) + 1e6


def _moved(tensor: Tensor, device: Device) -> Tensor:
    """The tensor on the device, with the strides that it has."""
    if device.is_interpreted or tensor.is_conj() or tensor.is_neg() or tensor.is_contiguous():
        return tensor.to(device.name)
    whole = tensor._base if tensor._base is not None else tensor
    moved = torch.empty(whole.untyped_storage().nbytes() // whole.element_size(), dtype=whole.dtype, device=device.name)
    moved.copy_(whole.as_strided((moved.numel(),), (1,), 0))
    return moved.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


Found = tuple[tuple[float, ...], int, tuple[float, ...], list[float], tuple[int, ...]]


def records(measurer: Measurer, tensor: Tensor) -> Found:
    """A tensor's statistics, its zeros, its counts, its sketch and its digest."""
    memory = ctypes.create_string_buffer((MAX_ROWS + 1) * layout.RECORD_BYTES)
    rows = measurer.measure(tensor, ctypes.addressof(memory), Name(1, 1, 1, 0, 0))
    measurer.flush()
    content = [memory.raw[at : at + layout.RECORD_BYTES] for at in range(0, rows * layout.RECORD_BYTES, layout.RECORD_BYTES)]
    fields = layout.TENSOR.unpack_from(content[0])
    if fields[3] & layout.UNSUPPORTED or not all(record[layout.COMMIT_OFFSET] for record in content):
        return (), 0, (), [], ()
    counts, sums, digest = (0,) * 4, list[float](), tuple[int, ...]()
    for record in content[1:]:
        kind = record[layout.COMMIT_OFFSET]
        if kind == layout.COUNTS_KIND:
            counts = layout.COUNTS.unpack_from(record)[:4]
        elif kind == layout.SKETCH_KIND:
            sums += layout.SKETCH.unpack_from(record)[:-1]
        elif kind == layout.DIGEST_KIND:
            digest = layout.DIGEST.unpack_from(record)
    return fields[4:9], fields[9], counts, sums, digest


def differences(name: str, host: Found, device: Found) -> Iterator[str]:
    """What of a tensor is not the same on the device: counts and digest to the bit, sums but for rounding."""
    if bool(host[0]) != bool(device[0]):
        yield f"{name}: not read {'on the device' if host[0] else 'on the host'}"
        return
    scale = max(map(abs, host[0]), default=0.0) or 1.0
    for field, ours, theirs in zip(_FIELDS, host[0], device[0], strict=True):
        if not (ours == theirs or abs(ours - theirs) <= 1e-5 * max(abs(ours), 1e-6 * scale)):
            yield f"{name}: {field} {theirs!r}, on the host {ours!r}"
    for what, at in (("zeros", 1), ("NaN, infinities and subnormals", 2), ("digest", 4)):
        if host[at] != device[at]:
            yield f"{name}: {what} {device[at]}, on the host {host[at]}"
    norm = sum(one * one for one in host[3]) ** 0.5
    if len(host[3]) != len(device[3]) or any(abs(one - other) > 1e-4 * norm for one, other in zip(host[3], device[3], strict=True)):
        yield f"{name}: another sketch"
