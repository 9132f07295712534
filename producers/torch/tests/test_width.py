"""The kernel takes the widest vectors that the machine has, whichever compiler built it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap._stats import built

# Another kernel, as a wheel's, is tested likewise.
KERNEL = Path(os.environ.get("TENSORTAP_KERNEL", built.KERNEL))
ASK = f"import ctypes; print(ctypes.CDLL({str(KERNEL)!r}).tap_simd())"


def widest() -> int:
    flags = next((set(line.split()) for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), set())
    return 2 if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags else int("avx2" in flags)


def test_the_widest_version_is_taken() -> None:
    if "TENSORTAP_SIMD" in os.environ:
        pytest.fail("unset TENSORTAP_SIMD: this test looks at what the kernel takes by itself")
    assert ctypes.CDLL(str(KERNEL)).tap_simd() == widest()


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_no_wider_version_than_allowed_is_taken(allowed: int) -> None:
    done = subprocess.run([sys.executable, "-c", ASK], env={**os.environ, "TENSORTAP_SIMD": str(allowed)}, capture_output=True, text=True, check=True)
    assert int(done.stdout) == min(allowed, widest())
