"""Holds the CUDA kernels against the C kernel, counts host synchronisations and measures; says so where there is no GPU.

    python bench/gpu.py
"""

from __future__ import annotations

import ctypes
import sys
import time

import torch

from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._stats.measure import MAX_ROWS, Measurer

DTYPES = tuple(
    getattr(torch, name)
    for name in (
        "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int64 int8 uint16 uint32 uint64 bool complex32 complex64 complex128"
    ).split()
)
COUNTS = (0, 1, 1000, 70_001, 3_000_000)
FIELDS = ("minimum", "maximum", "mean", "m2", "l1")


def records(measurer: Measurer, tensor: torch.Tensor) -> tuple[tuple[float, ...], int, list[bytes]]:
    """A tensor's statistics, its zeros, and its sketch and digest."""
    memory = ctypes.create_string_buffer((MAX_ROWS + 1) * layout.RECORD_BYTES)
    rows = measurer.measure(tensor, ctypes.addressof(memory), Name(1, 1, 1, 0, 0))
    measurer.flush()
    content = [memory.raw[at : at + layout.RECORD_BYTES] for at in range(0, rows * layout.RECORD_BYTES, layout.RECORD_BYTES)]
    assert all(record[layout.COMMIT_OFFSET] for record in content), "a record was not committed"
    fields = layout.TENSOR.unpack_from(content[0])
    extensions = [record for record in content[1:] if record[layout.COMMIT_OFFSET] != layout.COUNTS_KIND]
    return fields[4:9], fields[9], extensions


def differs(name: str, on_host: torch.Tensor, measurer: Measurer) -> list[str]:
    """What is not the same on the device; an empty list is what is hoped for."""
    (host, host_zeros, host_more), (device, zeros, more) = records(measurer, on_host), records(measurer, on_host.cuda())
    scale = max(map(abs, host), default=0.0) or 1.0
    found = [
        f"{name}: {field} {theirs!r}, on the host {ours!r}"
        for field, ours, theirs in zip(FIELDS, host, device, strict=True)
        if abs(ours - theirs) > 1e-5 * max(abs(ours), 1e-6 * scale)
    ]
    if zeros != host_zeros:
        found.append(f"{name}: zeros {zeros}, on the host {host_zeros}")
    if more[-1:] != host_more[-1:]:
        found.append(f"{name}: another digest")
    return found


def check() -> list[str]:
    """Everything that is not the same on the device."""
    measurer, found = Measurer(1, True, True), list[str]()
    for dtype in DTYPES:
        for count in COUNTS:
            tensor = torch.randn(count).mul(20).to(dtype)
            found += differs(f"{dtype} of {count}", tensor, measurer)
    odd = torch.tensor([1.0, float("nan"), float("inf"), float("-inf"), 0.0, 1e-42] * 500)
    found += differs("not finite", odd, measurer)
    found += differs("transposed", torch.randn(300, 500).t(), measurer)
    return found


def waits(measurer: Measurer, tensor: torch.Tensor) -> None:
    """Raises when measuring waits for the device: torch then refuses, and the tensor is recorded as unsupported."""
    memory = ctypes.create_string_buffer(MAX_ROWS * layout.RECORD_BYTES)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        measurer.measure(tensor, ctypes.addressof(memory), Name(1, 1, 1, 0, 0))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    measurer.flush()
    if layout.TENSOR.unpack_from(memory)[3] & layout.UNSUPPORTED:
        raise RuntimeError("measuring a CUDA tensor waits for the device")


def price(measurer: Measurer, count: int) -> str:
    """Microseconds a tensor to enqueue, and to do."""
    tensor, repeats = torch.randn(count, device="cuda"), 200
    memory = ctypes.create_string_buffer(repeats * MAX_ROWS * layout.RECORD_BYTES)
    step = MAX_ROWS * layout.RECORD_BYTES
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for at in range(repeats):
        measurer.measure(tensor, ctypes.addressof(memory) + at * step, Name(1, 1, 1, 0, 0))
    enqueued = time.perf_counter() - begun
    torch.cuda.synchronize()
    done = time.perf_counter() - begun
    measurer.flush()
    return f"{count:>12,} float32: {1e6 * enqueued / repeats:8.1f} us to enqueue, {1e6 * done / repeats:8.1f} us to do"


def main() -> int:
    """Checks and measures; 0 when all is as on the host, or when there is nothing to check."""
    if not torch.cuda.is_available():
        print("gpu-check: no CUDA device here: NOTHING WAS CHECKED")
        return 0
    print(f"gpu-check: {torch.cuda.get_device_name()}, torch {torch.__version__}")
    found = check()
    plain = Measurer(1, False, False)
    plain.measure(torch.ones(4, device="cuda"), ctypes.addressof(ctypes.create_string_buffer(320)), Name(1, 1, 1, 0, 0))
    plain.flush()
    waits(plain, torch.randn(1000, 1000, device="cuda"))
    for wanted in ((False, False), (True, False), (True, True)):
        print("statistics" + ", sketch" * wanted[0] + ", digest" * wanted[1])
        for count in (1000, 1_000_000, 100_000_000):
            print(price(Measurer(1, *wanted), count))
    print("\n".join(found) or "gpu-check: all as on the host, and nothing waited")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
