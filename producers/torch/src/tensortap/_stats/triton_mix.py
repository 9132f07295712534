"""SplitMix64's finaliser inside Triton's kernels."""

import triton
import triton.language as tl


@triton.jit
def mixed(x):  # type: ignore[no-untyped-def]
    """Of integers, as words without sign."""
    x = x.to(tl.uint64)
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    return x ^ (x >> 31)
