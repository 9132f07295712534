"""Statistics against float64 references, for every dtype and layout, by the C kernel and by torch's own operations."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from measuring import Reading, measure
from tensortap._spool import layout, records
from tensortap._stats import built, kernel
from tensortap._stats.measure import Measurer

EIGHTS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
FLOATS = ["float32", "float64", "float16", "bfloat16", *EIGHTS]
WHOLE = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
COMPLEX = ["complex32", "complex64", "complex128"]
DTYPES = [name for name in [*FLOATS, *WHOLE, *COMPLEX] if hasattr(torch, name)]
ROUNDING = 2.0**-24

MEASURERS = {
    "kernel": Measurer(1, False, False),
    "threads": Measurer(2, False, False),
    "torch": Measurer(1, False, False, by_torch=True),
}


def test_the_kernel_is_built() -> None:
    library = kernel.load()
    assert library is not None, "make kernel"
    assert set(DTYPES) <= set(library.dtypes)


def values(tensor: torch.Tensor) -> np.ndarray:
    """The elements in float64; of complex ones, their magnitudes, rounded as the dtype rounds them."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    if flat.dtype is torch.complex128:
        parts = torch.view_as_real(flat).numpy()
        return np.where(np.isnan(parts).any(axis=1), np.nan, np.hypot(parts[:, 0], parts[:, 1]))
    if flat.is_complex():
        parts = torch.view_as_real(flat.to(torch.complex64)).double().numpy()
        return np.sqrt((parts**2).sum(axis=1)).astype(np.float32).astype(np.float64)
    return flat.to(torch.float64).numpy()


def least_normal(dtype: torch.dtype) -> float:
    if not (dtype.is_floating_point or dtype.is_complex) or str(dtype) == "torch.float8_e8m0fnu":
        return 0.0
    return float(torch.finfo(dtype).smallest_normal)


def check(read: Reading, tensor: torch.Tensor) -> None:
    """Holds a reading against float64: what is counted and compared exactly, sums within a few roundings of float32."""
    x = values(tensor)
    finite = x[np.isfinite(x)]
    assert (read.site, read.layout, read.seq) == (7, 8, 9)
    assert read.zero == np.count_nonzero(finite == 0)
    subnormal = np.count_nonzero((finite != 0) & (np.abs(finite) < least_normal(tensor.dtype)))
    assert read.unusual == (np.isnan(x).sum(), np.isposinf(x).sum(), np.isneginf(x).sum(), subnormal)
    if not finite.size:
        assert read.flags == records.COUNTS_MEASURED
        return
    assert read.flags == records.ALL_MEASURED
    assert read.exact == (finite.min(), finite.max())
    check_moments(read, finite)


def check_moments(read: Reading, x: np.ndarray) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        mean, l1 = x.mean(), np.abs(x).sum()
        m2 = np.square(x - mean).sum()
    if not math.isfinite(m2):
        assert read.m2 == math.inf
        return
    # 64 elements of a block are added up in one lane
    assert abs(read.mean - mean) <= 64 * ROUNDING * l1 / x.size + 1e-320
    assert math.isclose(read.l1, l1, rel_tol=64 * ROUNDING, abs_tol=1e-320)
    # each element's distance from the centre is rounded, and so is the sum of their squares
    assert abs(read.m2 - m2) <= 64 * ROUNDING * m2 + x.size * (ROUNDING * np.abs(x - mean).max()) ** 2 + 1e-300


@pytest.mark.parametrize("how", MEASURERS)
@pytest.mark.parametrize("count", [0, 1, 7, 16, 1024, 5000, 100_003])
@pytest.mark.parametrize("name", DTYPES)
def test_statistics_of_every_dtype(name: str, count: int, how: str) -> None:
    tensor = sample(name, count)
    check(measure(MEASURERS[how], tensor), tensor)


def sample(name: str, count: int) -> torch.Tensor:
    """Elements of all kinds that the dtype has."""
    generator = torch.Generator().manual_seed(count)
    dtype = getattr(torch, name)
    if name in WHOLE:
        return torch.randint(0, 256, (count * dtype.itemsize,), generator=generator).to(torch.uint8).view(dtype) if name != "bool" else torch.randint(0, 2, (count,), generator=generator).bool()
    if name in COMPLEX:
        return torch.view_as_complex(sample_reals(2 * count, generator).view(-1, 2)).to(dtype)
    if name in EIGHTS:
        return torch.randint(0, 256, (count,), generator=generator).to(torch.uint8).view(dtype)
    return sample_reals(count, generator).to(dtype)


def sample_reals(count: int, generator: torch.Generator) -> torch.Tensor:
    reals = torch.randn(count, generator=generator, dtype=torch.float64)
    for place, value in enumerate((0.0, -0.0, 1e-42, -1e-7, math.nan, math.inf, -math.inf, 3e4)):
        reals[100 * place + 50 : 100 * place + 50 + place] = value
    return reals.float()


DRAWN = torch.Generator().manual_seed(7)  # the bounds are close: other numbers may lie beyond them by chance


def normal(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(count, dtype=dtype, generator=DRAWN)


@pytest.mark.parametrize("how", MEASURERS)
@pytest.mark.parametrize(
    "numbers",
    [
        normal(70_000) + 1e6,
        normal(5000) * 1e-3 + 1000,
        torch.cat([torch.zeros(3000), normal(3000) + 1e7]),
        normal(5000) * 1e38,
        torch.full((3000,), torch.finfo(torch.float32).min),
        normal(5000) * 1e-30,
        normal(5000, dtype=torch.float64) * 1e-200,
        normal(5000, dtype=torch.float64) * 1e150,
        normal(5000, dtype=torch.float64) * 1e200,
        normal(5000, dtype=torch.float64) + 1e12,
        torch.full((100_000,), 0.1),
        torch.tensor([1e10] + [1.0] * 5000),
        torch.full((2000,), math.nan),
        torch.cat([torch.full((2000,), -math.inf), normal(2000)]),
    ],
    ids=str,
)
def test_statistics_where_sums_are_hard(numbers: torch.Tensor, how: str) -> None:
    check(measure(MEASURERS[how], numbers), numbers)


layouts = st.lists(st.integers(1, 9), min_size=0, max_size=5).flatmap(
    lambda shape: st.tuples(
        st.just(tuple(shape)),
        st.permutations(range(len(shape))),
        st.lists(st.sampled_from(["all", "every second", "from the second", "one expanded", "none"]), min_size=len(shape), max_size=len(shape)),
    )
)


def laid_out(base: torch.Tensor, order: list[int], cuts: list[str]) -> torch.Tensor:
    tensor = base.permute(order)
    for dimension, cut in enumerate(cuts):
        if cut == "every second":
            tensor = tensor[(slice(None),) * dimension + (slice(None, None, 2),)]
        elif cut == "from the second":
            tensor = tensor.narrow(dimension, min(1, tensor.shape[dimension]), max(0, tensor.shape[dimension] - 1))
        elif cut == "one expanded" and tensor.shape[dimension]:
            tensor = tensor.narrow(dimension, 0, 1).expand(*[5 if d == dimension else -1 for d in range(tensor.dim())])
    return tensor


@settings(max_examples=150, deadline=None)
@given(layouts, st.sampled_from(["float32", "float64", "bfloat16", "uint8", "complex128"]))
def test_statistics_sketch_and_digest_of_every_layout(plan: tuple[tuple[int, ...], list[int], list[str]], name: str) -> None:
    shape, order, cuts = plan
    tensor = laid_out(torch.randn(shape).mul(50).to(getattr(torch, name)), order, cuts)
    check(measure(MEASURERS["kernel"], tensor), tensor)
    full = Measurer(1, True, True)
    laid, copied = measure(full, tensor), measure(full, tensor.contiguous())
    check(laid, tensor)
    assert (laid.digest, laid.sketch) == (copied.digest, copied.sketch)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(width=32), max_size=80))
def test_statistics_of_any_floats(numbers: list[float]) -> None:
    tensor = torch.tensor(numbers, dtype=torch.float32)
    for measurer in MEASURERS.values():
        check(measure(measurer, tensor), tensor)


def test_the_usual_tensor_is_measured_much_better_than_that() -> None:
    tensor = torch.randn(704_512) * 0.02 + 0.001
    x = tensor.double().numpy()
    read = measure(MEASURERS["kernel"], tensor)
    assert abs(read.mean - x.mean()) <= ROUNDING * np.abs(x).mean()
    assert math.isclose(read.m2, np.square(x - x.mean()).sum(), rel_tol=2 * ROUNDING)
    assert math.isclose(read.l1, np.abs(x).sum(), rel_tol=2 * ROUNDING)


@pytest.mark.parametrize("threads", ["torch's", "our own"])
def test_threads_change_no_bit(threads: str, tmp_path: Path) -> None:
    copy = Path(shutil.copy(built.KERNEL, tmp_path))
    library, before = kernel.load(copy), torch.get_num_threads()
    assert library is not None
    if threads == "our own":
        ctypes.CDLL(str(copy)).tap_lend_team(None)
    torch.set_num_threads(4)
    try:
        tensor = torch.randn(1_000_003) * 3 + 1
        assert measure(Measurer(1, True, True, library=library), tensor) == measure(Measurer(4, True, True, library=library), tensor)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("ours", "others"),
    [
        ((0, 8, 16, 20, 24, 28, 32, 40, 48, 52, kernel.CALL.size), (0, 40, 8, 48, 16, 24, 28, 44, 20, 32, kernel.CALL.size)),
        ((0, 8, 16, 20, 24, 28, 32, 36, 40, 32), (0, 8, 20, 16, 24, 28, 32, 36, 40, 32)),
    ],
    ids=["calls", "pending tensors"],
)
def test_a_library_that_was_built_of_other_sources_is_not_called(ours: tuple[int, ...], others: tuple[int, ...], tmp_path: Path) -> None:
    """As when Python's files were updated, and `make kernel` was not run."""
    content = built.KERNEL.read_bytes()
    assert content.count(bytes(ours)) == 1
    other = tmp_path / built.KERNEL.name
    other.write_bytes(content.replace(bytes(ours), bytes(others)))
    assert kernel.load(other) is None


def test_a_team_is_lent_where_this_process_was_not_forked() -> None:
    assert kernel.team_of_torch()
    child = os.fork()
    if not child:
        os._exit(0 if kernel.team_of_torch() is None else 1)
    assert os.waitpid(child, 0)[1] == 0


def of_width(width: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Measurer:
    """A measurer with a copy of the library that was loaded for that width."""
    copy = Path(shutil.copy(built.KERNEL, folder / f"{width}.so"))
    monkeypatch.setenv("TENSORTAP_SIMD", width)
    library = kernel.load(copy)
    assert library is not None
    return Measurer(1, True, True, library=library)


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int32", "complex64"])
def test_the_width_of_vectors_changes_no_bit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = torch.randn(5003).mul(100).to(getattr(torch, name))
    broken = tensor.clone()
    broken[::50] = 0 if name == "int32" else math.nan
    measurers = [of_width(width, tmp_path, monkeypatch) for width in "012"]
    for sample in (tensor, broken):
        first, *others = [measure(measurer, sample) for measurer in measurers]
        assert others == [first, first]


def test_an_expanded_tensor_is_as_its_copy() -> None:
    tensor = torch.randn(64, 1, 33).expand(64, 200, 33)
    spread, copied = measure(MEASURERS["kernel"], tensor), measure(MEASURERS["kernel"], tensor.contiguous())
    check(spread, tensor)
    assert (spread.exact, spread.zero) == (copied.exact, copied.zero)


def test_flags_of_the_caller_stay() -> None:
    assert measure(MEASURERS["kernel"], torch.ones(3), layout.REUSED).flags == layout.REUSED | records.ALL_MEASURED
    assert measure(MEASURERS["torch"], torch.ones(3), layout.REUSED).flags == layout.REUSED | records.ALL_MEASURED
