"""Files of raw tensors are the same bytes by C and by Python, through the system's memory and past it."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._record import raw_forms, raw_memory, raw_writing
from tensortap._record.raw_memory import Copies, Memory
from tensortap._stats import built

LARGE = raw_writing.LEAST_IN_PAGES
SIZES = [LARGE - 1, LARGE, LARGE + 1, LARGE + 4095, LARGE + 4096, 3 * LARGE + 5]


@pytest.fixture(params=["C", "Python"])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "Python":
        monkeypatch.setattr(raw_writing, "_in_c", lambda: None)
    else:
        assert raw_writing._in_c() is not None, "make kernel"
    return str(request.param)


def _copied(size: int) -> Tensor:
    copy = Copies(Memory(1 << 30)).of(torch.randint(0, 256, (size,), dtype=torch.uint8))
    assert copy is not None
    return copy.tensor


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wanted", ["safetensors", "npy", "pt"])
@pytest.mark.parametrize("past_memory", [False, True])
@pytest.mark.usefixtures("writer")
def test_each_way_writes_the_same(past_memory: bool, wanted: str, size: int, tmp_path: Path) -> None:
    import numpy as np
    from safetensors.torch import load_file

    tensor, path = _copied(size), tmp_path / "one"
    suffix, write = raw_forms.form(wanted, torch.uint8)
    written, checksum = write(str(path), tensor, {"op": "α/β"}, past_memory=past_memory)
    assert written == path.stat().st_size and checksum == zlib.crc32(tensor.numpy().tobytes())
    assert abs(written - size - raw_forms.head_bytes(suffix, size)) < 600
    if wanted != "pt":
        assert (written - size) % raw_writing.PAGE == 0 or size < LARGE
    read = {"npy": lambda: torch.from_numpy(np.load(path)), "pt": lambda: torch.load(path), "safetensors": lambda: load_file(path)["tensor"]}[wanted]()
    assert torch.equal(read, tensor)


def test_elements_that_begin_within_a_page_are_written_too(tmp_path: Path) -> None:
    tensor = _copied(LARGE + 9)[3:]
    raw_writing.create(str(tmp_path / "one"), b" " * raw_writing.PAGE, tensor, past_memory=True)
    assert (tmp_path / "one").read_bytes()[raw_writing.PAGE :] == tensor.numpy().tobytes()


def _pages_in_memory(path: Path) -> int:
    size = path.stat().st_size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    with path.open("rb") as file:
        at = libc.mmap(None, size, 1, 1, file.fileno(), 0)
    pages = (ctypes.c_ubyte * (-(-size // raw_writing.PAGE)))()
    assert libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), pages) == 0
    libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return sum(page & 1 for page in pages)


def test_what_is_large_goes_past_the_system_s_memory_where_the_disk_is_a_local_one(tmp_path: Path) -> None:
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(tmp_path)], capture_output=True, text=True, check=True).stdout.strip()
    if kind not in ("ext2/ext3", "xfs"):
        pytest.skip(f"{tmp_path} is on {kind}")
    tensor, through, past = _copied(4 * LARGE + 5), tmp_path / "through", tmp_path / "past"
    for path in (through, past):
        raw_forms.as_safetensors(str(path), tensor, {}, past_memory=path is past)
    assert _pages_in_memory(past) <= 1 < 4 * LARGE // raw_writing.PAGE <= _pages_in_memory(through)


@pytest.mark.parametrize("past_memory", [False, True])
@pytest.mark.usefixtures("writer")
def test_a_file_that_is_cut_does_not_stay_and_another_s_is_not_touched(past_memory: bool, tmp_path: Path) -> None:
    path, tensor = tmp_path / "one", _copied(4 * LARGE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * LARGE, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            raw_forms.as_safetensors(str(path), tensor, {}, past_memory=past_memory)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not path.exists()
    path.write_text("another's")
    with pytest.raises(FileExistsError):
        raw_forms.as_safetensors(str(path), tensor, {}, past_memory=past_memory)
    assert path.read_text() == "another's"


@pytest.mark.parametrize("width", ["0", "1"])
def test_the_checksum_is_that_of_zlib_for_every_size_and_place(width: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORTAP_SIMD", width)
    library = ctypes.CDLL(shutil.copy(built.KERNEL, tmp_path / f"{width}.so"))
    content, checksum = os.urandom(400), ctypes.c_uint32()
    for size in range(300):
        path = os.fsencode(tmp_path / f"{width}-{size}")
        part = content[size % 17 :][:size]
        assert library.tap_write_raw(path, b"", ctypes.c_int64(0), part, ctypes.c_int64(len(part)), 0, ctypes.byref(checksum)) == 0
        assert checksum.value == zlib.crc32(part), size


def test_memory_for_large_tensors_begins_with_a_page_and_is_tight_when_half_of_it_waits() -> None:
    memory = Memory(4 * LARGE)
    buffers = [memory.take(LARGE, False) for _ in range(3)]
    assert all(buffer is not None and buffer.data_ptr() % raw_writing.PAGE == 0 and buffer.untyped_storage().nbytes() == LARGE for buffer in buffers)
    assert memory.is_tight()
    for buffer in buffers[:2]:
        assert buffer is not None
        memory.give_back(buffer, False)
    assert not memory.is_tight()


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[bool], Callable[[], None]]]:
    """Whether each file was to go past the system's memory; and what lets files be written."""
    free, asked, write = threading.Event(), [], raw_forms.as_safetensors

    def wait(path: str, tensor: Tensor, about: dict[str, str], *, past_memory: bool = False) -> tuple[int, int]:
        free.wait()
        asked.append(past_memory)
        return write(path, tensor, about, past_memory=past_memory)

    monkeypatch.setattr(raw_forms, "as_safetensors", wait)
    yield asked, free.set
    free.set()


class _Makes(nn.Module):
    def forward(self, given: Tensor) -> Tensor:
        return given + 1


def test_the_system_s_memory_takes_what_ours_has_no_room_for(
    held_up: tuple[list[bool], Callable[[], None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_memory, "_MOST_BYTES", 16 * LARGE)
    asked, let_go = held_up
    model, spool = nn.Sequential(_Makes()), tmp_path / "spool"
    with tensortap.tap(model, run="r", spool=spool, level="L0", values="output", task="tensor", payload_folder=tmp_path / "kept") as tap:
        for _ in range(12):
            model(torch.ones(LARGE // 4))
            tap.step()
        let_go()
    steps = reading.only(spool).steps
    assert sum(len({row[3] for row in step.payloads}) for step in steps) == len(asked) == 12
    assert 0 < asked.count(False) < 8 and asked[-1], "while more than half of it waits"


def test_a_child_leaves_its_parent_s_files_to_it(held_up: tuple[list[bool], Callable[[], None]], tmp_path: Path) -> None:
    _, let_go = held_up
    model, spool = nn.Sequential(_Makes()), tmp_path / "spool"
    with tensortap.tap(model, run="r", spool=spool, level="L0", values="output", task="tensor", payload_folder=tmp_path / "kept") as tap:
        for _ in range(3):
            model(torch.ones(4))
            tap.step()
        if not (child := os.fork()):
            let_go()
            model(torch.ones(4))
            tap.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        (folder,) = {path.parent for path in (tmp_path / "kept").rglob("*.safetensors")}
        assert len(list(folder.iterdir())) == 1, "its own"
        let_go()
    assert sorted(len(list(one.iterdir())) for one in (tmp_path / "kept").iterdir()) == [1, 3]
