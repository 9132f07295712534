"""The sketch: what it promises, and that C, torch and a plain reference in numpy agree."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import torch

from measuring import measure
from tensortap._stats import kernel
from tensortap._stats.measure import Measurer
from tensortap._stats.sketch import sketch

BUCKETS = 16
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MASK = (1 << 64) - 1


def mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def places(count: int, base: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Bucket and sign of each element, straight from the definition."""
    g = np.arange(count, dtype=np.uint64) + np.uint64(base)
    lane = g & np.uint64(15)
    with np.errstate(over="ignore"):
        h = mix(((g >> np.uint64(4)) + np.uint64(1)) * GOLDEN + mix(np.array([seed], dtype=np.uint64)))
    sign = np.where((h >> (np.uint64(16) + lane)) & np.uint64(1), -1.0, 1.0)
    return (lane ^ (h & np.uint64(15))).astype(np.int64), sign


def reference(numbers: np.ndarray, base: int = 0, seed: int = 0) -> np.ndarray:
    bucket, sign = places(numbers.size, base, seed)
    return np.bincount(bucket, weights=sign * numbers, minlength=BUCKETS)


def of_kernel(tensor: torch.Tensor, base: int) -> np.ndarray:
    library = kernel.load()
    assert library is not None
    sums = np.zeros(BUCKETS)
    number = library.dtypes.index(str(tensor.dtype).removeprefix("torch."))
    assert library.sketch_run(tensor.data_ptr(), tensor.numel(), number, None, base, sums.ctypes.data_as(ctypes.c_void_p).value)
    return sums


@pytest.mark.parametrize("base", [0, 16, 5, 1024 * 7 + 3, (1 << 32) - 8, (1 << 36) + 16])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 1000, 50_003])
def test_bucket_and_sign_are_the_definitions(count: int, base: int) -> None:
    whole = torch.randint(-50, 50, (count,)).float()
    expected = reference(whole.double().numpy(), base)
    assert np.array_equal(of_kernel(whole, base), expected)
    assert np.array_equal(of_kernel(whole.double(), base), expected)
    assert np.array_equal(sketch(whole, base).numpy(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_kernel_and_torch_write_the_same_records(dtype: torch.dtype) -> None:
    tensor = torch.randn(30_011).mul(9).to(dtype)
    tensor[100:110] = 0 if not (dtype.is_floating_point or dtype.is_complex) else float("nan")
    parts = torch.view_as_real(tensor).reshape(-1) if dtype.is_complex else tensor
    numbers = parts.double().numpy()
    expected = reference(np.where(np.isfinite(numbers), numbers, 0))
    scale = np.linalg.norm(np.nan_to_num(numbers)) * 2.0**-21
    for by_torch in (False, True):
        found = measure(Measurer(1, True, False, by_torch=by_torch), tensor).sketch
        assert np.abs(np.array(found) - expected).max() <= scale


def test_shards_add_up() -> None:
    whole = torch.randint(-50, 50, (40_007,)).float()
    shards = sum(of_kernel(whole[first : first + 10_003], first) for first in range(0, 40_007, 10_003))
    assert np.array_equal(shards, of_kernel(whole, 0))


def differences(count: int) -> dict[str, np.ndarray]:
    """How two tensors may differ."""
    rng = np.random.default_rng(5)
    swapped, outlier = np.zeros(count), np.zeros(count)
    swapped[[17, 9001]] = 1, -1
    outlier[777] = 3
    return {
        "dense": rng.normal(size=count),
        "outlier": outlier,
        "two swapped": swapped,
        "constant": np.ones(count),
        "every 128th": (np.arange(count) % 128 == 0).astype(float),
        "low rank": np.outer(rng.normal(size=128), rng.normal(size=count // 128)).ravel(),
        "equal blocks": np.tile(rng.normal(size=16), count // 16),
    }


@pytest.mark.parametrize("kind", differences(16_384))
def test_the_distance_is_estimated_without_bias(kind: str) -> None:
    """Over seeds: mean within four of its own errors, deviation not above that of chi-squared with 16 degrees and its error."""
    difference = differences(16_384)[kind]
    truth = np.square(difference).sum()
    ratios = np.array([np.square(reference(difference, seed=seed)).sum() / truth for seed in range(1, 601)])
    assert abs(ratios.mean() - 1) <= 4 * max(ratios.std(), 1e-9) / np.sqrt(len(ratios)) + 1e-9
    assert ratios.std() <= 0.424


@pytest.mark.parametrize("kind", ["dense", "constant"])
def test_the_interval_covers_over_many_shapes_and_places(kind: str) -> None:
    """95 % of chi-squared with 16 degrees is between 6.908 and 28.845; the seed is fixed, where tensors differ is not."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1500):
        count, base = int(rng.integers(200, 20_000)), int(rng.integers(0, 1 << 40))
        difference = torch.tensor(rng.normal(size=count) if kind == "dense" else np.full(count, 0.5)).float()
        scaled = BUCKETS * np.square(of_kernel(difference, base)).sum() / float(difference.double().square().sum())
        covered += 6.908 <= scaled <= 28.845
    assert covered / 1500 >= 0.93
