"""The task tensor: each recorded tensor is in a file, from launch on, and no step waits for a disk."""

from __future__ import annotations

import io
import json
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import asking
import pytest
import reading
import torch
from torch import Tensor, nn

import tensortap
from tensortap._record import raw_files, raw_forms, raw_memory, raw_writing
from tensortap._record.raw_ledger import Ledger
from tensortap._record.raw_memory import Copies, Copy, Memory, Staging


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def _train(tmp_path: Path, count: int = 3, **given: Any) -> list[reading.Step]:
    model, spool = _model(), tmp_path / "spool"
    with tensortap.tap(model, run="r", spool=spool, payload_folder=tmp_path / "kept", **{"level": "mix", "task": "tensor", **given}) as tap:
        for _ in range(count):
            torch.autograd.backward(model(torch.ones(3, 4)).sum())
            tap.step()
    return reading.only(spool).steps


def _elements(path: Path) -> bytes:
    content = path.read_bytes()
    return content[8 + struct.unpack_from("<Q", content)[0] :]


def test_each_tensor_of_each_recorded_op_is_kept_from_launch(tmp_path: Path) -> None:
    for step in _train(tmp_path):
        tensors = {(value.op, value.role, value.path) for value in step.values if value.layout["kind"] == "tensor"}
        assert {row[:3] for row in step.payloads} == tensors and len(tensors) > 20 and step.unseen == {}
        for *_, location, size, checksum in step.payloads:
            path = tmp_path / "kept" / location
            assert path.stat().st_size == size and zlib.crc32(_elements(path)) == checksum and path.stat().st_mode & 0o777 == 0o600


def test_filters_choose(tmp_path: Path) -> None:
    steps = _train(tmp_path, level="L1", ops="linear*", steps="1", direction="forward")
    assert [step.number for step in steps] == [1]
    ops = {row[0] for row in steps[0].payloads}
    assert ops == {"Functional.linear.0.forward", "Functional.linear.1.forward", "Loss.0.debug"}


def test_what_changes_in_place_is_kept_as_it_was(tmp_path: Path) -> None:
    steps = _train(tmp_path, count=1)
    rows = {row[:3]: row for row in steps[0].payloads}
    made = _elements(tmp_path / "kept" / rows["Functional.linear.0.forward", "output", "0"][3])
    expected = _model()[0](torch.ones(3, 4)).detach()  # type: ignore[index]
    assert torch.equal(torch.frombuffer(bytearray(made), dtype=torch.float32).reshape(3, 8), expected)


@pytest.mark.parametrize("form", ["npy", "pt", "safetensors"])
def test_the_format_is_as_asked(form: str, tmp_path: Path) -> None:
    (step,) = _train(tmp_path, count=1, file_format=form)
    assert {row[3].rpartition(".")[2] for row in step.payloads} == {form}
    assert all((tmp_path / "kept" / row[3]).is_file() for row in step.payloads)


def test_without_a_folder_files_are_beside_the_spools(tmp_path: Path) -> None:
    model = _model()
    with tensortap.tap(model, run="r", spool=tmp_path, level="L0", task="tensor") as tap:
        model(torch.ones(3, 4))
        tap.step()
    assert len(list((tmp_path / "payloads").glob("*/*.safetensors"))) > 3


def test_what_the_budget_leaves_out_is_counted_and_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = _train(tmp_path, count=3, budget="9kB")
    kept = sum(path.stat().st_size for path in (tmp_path / "kept").rglob("*.*"))
    assert 4000 < kept <= 9000
    refused = [step.unseen.get(("payload not kept", "more than 9000 bytes"), 0) for step in steps]
    assert sum(refused) > 0 and refused[0] == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "raw tensors" in line]
    assert len(told) == 1 and "are left out that would be more than 9000 bytes" in told[0]


def test_a_budget_of_the_host_is_of_all_processes_of_the_run(tmp_path: Path) -> None:
    model, spool, kept = _model(), tmp_path / "spool", tmp_path / "kept"
    for rank in range(3):
        with tensortap.tap(model, run="r", rank=rank, spool=spool, level="L0", task="tensor", budget="1MB,host=600B", payload_folder=kept) as tap:
            model(torch.ones(3, 4))
            tap.step()
    reason = "payload not kept", "more than 600 bytes of all ranks of the host"
    spools = [reading.read(one).steps[0] for one in sorted(spool.iterdir())]
    assert sum(len(_elements(path)) for path in kept.glob("*/*")) <= 600 < sum(len(step.payloads) for step in spools) * 100
    assert sum(reason in step.unseen for step in spools) >= 2  # of the first, too, where a test before has had custom ops: its tensors are then written more than once
    assert len(list(kept.glob("*.ledger"))) == 1


def test_save_keeps_what_it_is_asked_to_with_its_gradient(tmp_path: Path) -> None:
    model, spool = _model(), tmp_path / "spool"
    with tensortap.tap(model, run="r", spool=spool, level="L0", payload_folder=tmp_path / "kept") as tap:
        for _ in range(2):
            made = model(torch.ones(3, 4))
            tap.save(made, "plain")
            tap.save({"made": made}, "kept", keep=True)
            torch.autograd.backward(made.sum())
            tap.step()
    steps = reading.only(spool).steps
    assert [sorted(row[:3] for row in step.payloads) for step in steps] == [
        [("kept.0.debug", "output", "made"), ("kept_grad.0.debug", "output", "made")]
    ] * 2


def test_a_value_that_is_kept_in_a_captured_step_keeps_no_others(tmp_path: Path) -> None:
    model, spool = _model(), tmp_path / "spool"
    with tensortap.tap(model, run="r", spool=spool, level="L0", task="tensor", steps="0,4", payload_folder=tmp_path / "kept") as tap:
        for step in range(5):
            if step == 1:
                asking.ask(next(path for path in spool.iterdir() if (path / "header").exists()), 7, do="capture", level="L0", steps=2)
            made = model(torch.ones(3, 4))
            if step in (1, 2):
                tap.save(made.detach(), "mine", keep=True)
            torch.autograd.backward(made.sum())  # whose ops are recorded after the value was named
            tap.step()
    kept = {step.number: {row[0] for row in step.payloads} for step in reading.only(spool).steps}
    assert kept[1] == kept[2] == {"mine.0.debug"}
    assert len(kept[0]) > 2 and kept[4] == kept[0]


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Nothing is written until the function that this gives is called."""
    free, form = threading.Event(), raw_forms.form

    def slow(wanted: str, dtype: torch.dtype) -> tuple[str, raw_forms.Write]:
        suffix, write = form(wanted, dtype)

        def wait(path: str, tensor: Tensor, about: Mapping[str, str], *, past_memory: bool = False) -> tuple[int, int]:
            free.wait()
            return write(path, tensor, about, past_memory=past_memory)

        return suffix, wait

    monkeypatch.setattr(raw_forms, "form", slow)
    yield free.set
    free.set()


def test_no_step_waits_for_the_disk_and_memory_is_bounded(slow_disk: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_memory, "_MOST_BYTES", 800)
    model, spool = _model(), tmp_path / "spool"
    with tensortap.tap(model, run="r", spool=spool, level="mix", task="tensor", payload_folder=tmp_path / "kept") as tap:
        for _ in range(3):
            model(torch.ones(3, 4))
            tap.step()
        ended = [step.ended for step in reading.only(spool).steps]
        assert not any(ended)  # rows stand in order: none is told before its file is there
        slow_disk()
    steps = reading.only(spool).steps
    assert len(steps) == 3 and all(step.ended for step in steps)
    reason = "payload not kept", "more than 800 bytes that wait for the disk"
    kept = {row[3]: row[4] for step in steps for row in step.payloads}
    assert sum(step.unseen.get(reason, 0) for step in steps) > 5 and 0 < sum(size - 80 for size in kept.values()) < 800 + 200 * len(kept)


def test_a_full_disk_is_told_and_counted_and_harms_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(path: str, tensor: Tensor, about: Mapping[str, str], *, past_memory: bool = False) -> tuple[int, int]:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(raw_forms, "as_safetensors", full)
    steps = _train(tmp_path)
    assert len(steps) == 3 and all(step.ended and step.values and not step.payloads for step in steps)
    assert sum(count for step in steps for key, count in step.unseen.items() if key == ("payload not kept", "No space left on device")) > 20
    told = [line for line in capsys.readouterr().err.splitlines() if "raw tensor" in line]
    assert told == [
        f"tensortap: rank 0: a raw tensor could not be written below {tmp_path / 'kept'}: No space left on device; "
        "report unseen counts all that are not kept"
    ]
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]


def test_an_error_of_any_kind_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []

    def odd(path: str, tensor: Tensor, about: Mapping[str, str], *, past_memory: bool = False) -> tuple[int, int]:
        names.append(threading.current_thread().ident)
        raise AssertionError

    monkeypatch.setattr(raw_forms, "as_safetensors", odd)
    steps = _train(tmp_path)
    assert len(names) > 20 and len(set(names)) <= raw_files.THREADS, "the same threads have tried all"
    assert sum(count for step in steps for key, count in step.unseen.items() if key == ("payload not kept", "AssertionError")) > 20
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]


def test_a_file_that_cannot_be_closed_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_writing, "open", _Remote, raising=False)
    _, write = raw_forms.form("pt", torch.float32)
    with pytest.raises(OSError, match="No space left"):
        write(str(tmp_path / "one"), torch.ones(3), {})
    assert not list(tmp_path.iterdir())


class _Remote(io.FileIO):
    """A file whose disk says as it is closed that there was no room."""

    def close(self) -> None:
        if not self.closed:
            super().close()
            raise OSError(28, os.strerror(28))


def test_a_folder_that_cannot_be_made_is_told_at_launch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept").write_text("")
    steps = _train(tmp_path)
    assert all(step.ended and not step.payloads for step in steps)
    assert f"raw tensors cannot be kept in {tmp_path / 'kept'}: " in capsys.readouterr().err


def test_a_child_writes_its_own(tmp_path: Path) -> None:
    model, spool = _model(), tmp_path / "spool"
    with tensortap.tap(model, run="r", spool=spool, level="L0", task="tensor", payload_folder=tmp_path / "kept") as tap:
        model(torch.ones(3, 4))
        pid = os.fork()
        if not pid:
            model(torch.ones(3, 4))
            tap.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    folders = [one for one in spool.iterdir() if (one / "header").is_file()]
    assert len(folders) == 2
    for folder in folders:
        (step,) = reading.read(folder).steps
        assert step.payloads and all((tmp_path / "kept" / row[3]).is_file() for row in step.payloads)


def test_copies_from_a_device_go_by_its_stream_and_by_memory_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU, as the streams of a device that does all at once."""
    memory, staging = Memory(1000), Staging(torch.device("cpu"))
    for most in (1000, 10):  # with room on the device, and without
        monkeypatch.setattr(raw_memory, "_MOST_STAGED", most)
        given = torch.arange(6.0).reshape(2, 3).t()
        buffer = memory.take(given.nbytes, False)
        assert buffer is not None
        copy = Copy(memory, buffer, buffer.view(torch.float32).view(3, 2), False)
        staging.copy(given, copy)
        copy.wait()
        assert copy.has_come() and torch.equal(copy.tensor, given)
        copy.free()


def test_memory_is_used_again_and_never_more_than_its_bound() -> None:
    copies = Copies(Memory(100))
    first, second = copies.of(torch.ones(10)), copies.of(torch.ones(10))
    assert first is not None and second is not None and copies.of(torch.ones(10)) is None
    pointer = first.tensor.data_ptr()
    first.free()
    again = copies.of(torch.zeros(10))
    assert again is not None and again.tensor.data_ptr() == pointer and not again.tensor.any()
    second.free()
    other = copies.of(torch.ones(15))  # there is room once the free buffer of another size is let go
    assert other is not None and copies.of(torch.ones(1)) is None


def test_inference_mode_and_what_it_makes_are_copied() -> None:
    copies = Copies(Memory(100))
    with torch.inference_mode():
        copy = copies.of(torch.ones(5))
    assert copy is not None and not copy.tensor.is_inference()
    copy.free()
    copy = copies.of(torch.zeros(5))
    assert copy is not None and not copy.tensor.any()


def test_msprobe_s_task_tensor_keeps_tensors(tmp_path: Path) -> None:
    from tensortap._config.msprobe_file import from_msprobe

    config = {"task": "tensor", "dump_path": str(tmp_path / "dump"), "level": "mix", "tensor": {"list": ["linear"], "file_format": "npy"}}
    made = from_msprobe(config, environment={})
    assert (made.task, made.file_format, made.names, made.digest, made.differences) == ("tensor", "npy", ("linear",), True, ())
    with pytest.raises(tensortap.SettingsError, match="config file_format: 'bin' is not written here; "):
        from_msprobe(json.loads(json.dumps(config).replace("npy", "bin")), environment={})


def test_nothing_is_kept_where_another_user_can_change_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    kept.chmod(0o777)
    steps = _train(tmp_path, count=1, budget="1MB,host=1MB")
    assert list(kept.iterdir()) == []
    reasons = [name for step in steps for what, name in step.unseen if what == "payload not kept"]
    assert len(reasons) == 1 and "may be written by other users (mode 0777)" in reasons[0]
    said = capsys.readouterr().err
    assert f"raw tensors are not kept in {kept}: the folder may be written by other users (mode 0777): chmod go-w it" in said


def test_a_ledger_follows_no_link(tmp_path: Path) -> None:
    ledger, other = Ledger(tmp_path, "r", 9), tmp_path / "other"
    assert ledger.take(8) and not ledger.take(8)
    (path,) = tmp_path.glob("*.ledger")
    path.rename(other)
    path.symlink_to(other)
    with pytest.raises(OSError, match="symbolic links"):
        ledger.take(1)
