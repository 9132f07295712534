"""The files of raw tensors: the readers of each format read what was written."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tensortap._record import raw_forms
from tensortap._stats.digest import raw_bytes

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
]  # fmt: skip
SHAPES = [(), (0, 3), (2, 3), (5,)]


def _written(tmp_path: Path, wanted: str, tensor: Tensor) -> tuple[Path, int]:
    suffix, write = raw_forms.form(wanted, tensor.dtype)
    path = tmp_path / f"one.{suffix}"
    size, checksum = write(str(path), tensor, {"op": "α/β"})
    assert path.stat().st_size == size
    return path, checksum


def _some(dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    return torch.randint(0, 2, shape).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("wanted", ["safetensors", "pt"])
def test_every_dtype_is_read_by_the_format_s_own_reader(wanted: str, dtype: torch.dtype, shape: tuple[int, ...], tmp_path: Path) -> None:
    from safetensors.torch import load_file

    tensor = _some(dtype, shape)
    path, checksum = _written(tmp_path, wanted, tensor)
    read = load_file(path)["tensor"] if wanted == "safetensors" else torch.load(path, weights_only=True)
    assert read.dtype == dtype and read.shape == tensor.shape
    assert torch.equal(raw_bytes(read), raw_bytes(tensor))
    assert checksum == zlib.crc32(bytes(raw_bytes(tensor).tolist()))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numpy_reads_every_dtype_and_as_float32_what_it_has_no_name_for(dtype: torch.dtype, shape: tuple[int, ...], tmp_path: Path) -> None:
    tensor = _some(dtype, shape)
    path, checksum = _written(tmp_path, "npy", tensor)
    read = np.load(path)
    strange = dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
    wanted = (tensor.float() if strange else tensor).numpy()
    assert read.dtype == wanted.dtype and read.shape == wanted.shape and np.array_equal(read, wanted)
    assert checksum == zlib.crc32(wanted.tobytes())


def test_a_dtype_that_safetensors_lacks_is_written_as_pt(tmp_path: Path) -> None:
    tensor = torch.ones(3, dtype=torch.complex128)
    path, _ = _written(tmp_path, "safetensors", tensor)
    assert path.suffix == ".pt" and torch.equal(torch.load(path, weights_only=True), tensor)


def test_the_sizes_of_heads_are_about_those_of_files(tmp_path: Path) -> None:
    for wanted, size in raw_forms.HEADS.items():
        path, _ = _written(tmp_path, wanted, torch.ones(1000))
        assert abs(path.stat().st_size - 4000 - size) < 600, wanted
