"""Raw tensors that are asked for: in files with plain names, within limits, and as they were."""

from __future__ import annotations

import json
import resource
import struct
import zlib
from pathlib import Path
from typing import Any

import asking
import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._record import raw_files, raw_forms
from tensortap._session import raw_tensors
from tensortap._stats.digest import raw_bytes

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
]  # fmt: skip


class _Hostile(nn.Module):
    """Modules whose names and classes look like paths."""

    def __init__(self) -> None:
        super().__init__()
        self.add_module("/etc/passwd", nn.Linear(4, 4))
        self.add_module("\x1b[2J ../..".replace(".", "…"), type("..", (nn.Tanh,), {})())

    def forward(self, given: Tensor) -> Tensor:
        for part in self.children():
            given = part(given)
        return given


def _recorded(tmp_path: Path, model: nn.Module, given: Tensor, **request: Any) -> list[reading.Step]:
    spool, folder = tmp_path / "spool", tmp_path / "kept"
    with tensortap.tap(model, run="kept", spool=spool) as tap:
        for step in range(4):
            if step == 1:
                asked = {"do": "capture", "level": "mix", "steps": 2, "folder": str(folder), "most_bytes": 1 << 20, **request}
                asking.ask(next(spool.iterdir()), 3, **asked)
            model(given)
            tap.step()
    return reading.only(spool).steps


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    assert length % 8 == 0
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def test_tensors_are_kept_for_two_steps_below_names_that_are_numbers(tmp_path: Path) -> None:
    model, given = _Hostile(), torch.randn(3, 4)
    steps = _recorded(tmp_path, model, given)
    assert [bool(step.payloads) for step in steps] == [False, True, True, False]
    kept = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    name = next((tmp_path / "spool").iterdir()).name
    assert kept and all(path.parent == tmp_path / "kept" / name and path.name.replace("-", "").split(".")[0].isdigit() for path in kept)
    assert {path.relative_to(tmp_path / "kept").as_posix() for path in kept} == {row[3] for step in steps for row in step.payloads}
    _, role, path, location, size, checksum = next(row for row in steps[1].payloads if "passwd" in row[0] and row[1] == "output")
    head, elements = _read(tmp_path / "kept" / location)
    assert (role, path) == ("output", "0") and size == (tmp_path / "kept" / location).stat().st_size
    assert head["tensor"]["dtype"] == "F32" and head["tensor"]["shape"] == [3, 4] and zlib.crc32(elements) == checksum
    assert head["__metadata__"]["op"] == next(row[0] for row in steps[1].payloads if row[3] == location)  # that had it first
    made = next(model.children())(given).detach()
    assert torch.equal(torch.frombuffer(bytearray(elements), dtype=torch.float32).reshape(3, 4), made)


def test_only_the_scope_is_kept_and_one_tensor_once(tmp_path: Path) -> None:
    steps = _recorded(tmp_path, nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)), torch.randn(3, 4), scope=["1"])
    rows = steps[1].payloads
    assert rows and {row[0] for row in rows} == {"Module.1.Tanh.forward.0", "Torch.tanh.0.forward"}
    inputs = {row[3] for row in rows if row[1] == "input"}
    assert len(inputs) == 1 and len([row for row in rows if row[1] == "input"]) == 2


def test_rows_that_are_padding_are_not_kept(tmp_path: Path) -> None:
    model, spool = nn.Sequential(nn.Linear(4, 4)), tmp_path / "spool"
    with tensortap.tap(model, run="kept", spool=spool) as tap:
        for step in range(2):
            tap.start()
            tap.pad(5, 3)
            model(torch.randn(5, 4))
            tap.step()
            if not step:
                asking.ask(next(spool.iterdir()), 3, do="capture", level="mix", steps=1, folder=str(tmp_path / "kept"), most_bytes=1 << 20)
    rows = [row for row in reading.only(spool).steps[1].payloads if row[1] in ("input", "output") and "Linear" in row[0]]
    assert len(rows) == 2 and all(_read(tmp_path / "kept" / row[3])[0]["tensor"]["shape"] == [3, 4] for row in rows)


@pytest.mark.parametrize(("limit", "reason"), [("bytes", "more than 250 bytes"), ("files", "more than 1 files"), ("disk", "less than ")])
def test_what_is_beyond_a_limit_is_counted(limit: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if limit == "files":
        monkeypatch.setattr(raw_tensors, "MOST_FILES", 1)
    if limit == "disk":
        monkeypatch.setattr(raw_files, "LEAST_FREE_BYTES", 1 << 62)
    request = {"most_bytes": 250} if limit == "bytes" else {}
    steps = _recorded(tmp_path, nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), torch.randn(3, 4), **request)
    refused = [count for step in steps for (why, what), count in step.unseen.items() if why == "payload not kept" and what.startswith(reason)]
    kept = sum(path.is_file() for path in (tmp_path / "kept").rglob("*"))
    assert sum(refused) > 0 and kept == (0 if limit == "disk" else 1)


@pytest.mark.parametrize("level", ["L0", "aten"])
def test_what_is_asked_for_again_has_a_limit_of_its_own(level: str, tmp_path: Path) -> None:
    model, spool = nn.Sequential(nn.Linear(4, 4)), tmp_path / "spool"
    with tensortap.tap(model, run="kept", level=level, spool=spool) as tap:
        for step in range(3):
            if step:
                asked = {"do": "capture", "level": level, "steps": 1, "folder": str(tmp_path / "kept"), "most_bytes": 250}
                asking.ask(next(spool.iterdir()), 2 * step + 1, **asked)
            model(torch.randn(3, 4))
            tap.step()
    assert [len({row[3] for row in step.payloads}) for step in reading.only(spool).steps] == [0, 1, 1]


class _First(nn.Module):
    """What is given has more elements than memory has room for, but shows the same one again and again."""

    def forward(self, given: Tensor) -> Tensor:
        return given[:1] + 1


def test_a_copy_that_memory_has_no_room_for_is_a_payload_that_is_not_kept(tmp_path: Path) -> None:
    model, spool, given = nn.Sequential(_First()), tmp_path / "spool", torch.ones(1).expand(1 << 26)
    with tensortap.tap(model, run="kept", spool=spool) as tap:
        model(given)
        tap.step()
        asking.ask(next(spool.iterdir()), 3, do="capture", level="L0", steps=1, folder=str(tmp_path / "kept"), most_bytes=1 << 30)
        before = resource.getrlimit(resource.RLIMIT_AS)
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + given.nbytes // 2, before[1]))
        try:
            model(given)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        tap.step()
    step = reading.only(spool).steps[1]
    assert step.unseen == {("payload not kept", "Cannot allocate memory"): 1}
    assert {row[1] for row in step.payloads} == {"output"}


def test_a_folder_that_cannot_be_made_costs_the_payloads_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    steps = _recorded(tmp_path, nn.Sequential(nn.Linear(4, 4)), torch.randn(3, 4), folder=str(tmp_path / "file" / "in it"))
    assert len(steps) == 4 and not any(step.payloads for step in steps)
    assert any(reason == "payload not kept" and subject == "Not a directory" for step in steps for reason, subject in step.unseen)
