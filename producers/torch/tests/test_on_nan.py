"""The first value that is not finite: its op of that very step is kept, and repeated alone; ranks end together; or the op raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import rare
import reading
import torch
from torch import Tensor, nn
from torch.optim.optimizer import _global_optimizer_pre_hooks

import tensortap


def _train(tmp_path: Path, model: nn.Module | None = None, steps: int = 8, **settings: Any) -> tuple[nn.Module, list[Tensor]]:
    torch.manual_seed(3)
    model = model or rare.Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [torch.randn(2, 4) for _ in range(steps)]
    with tensortap.tap(model, run="r", spool=tmp_path / "spool", payload_folder=tmp_path / "kept", **settings) as tap:
        for step, batch in enumerate(batches):
            optimizer.zero_grad()
            model(batch, step == 5).square().mean().backward()
            optimizer.step()
            tap.step()
    return model, batches


def repeated(folder: Path) -> tuple[int, str]:
    """The status and the output of the one program below the folder, run without this package."""
    (program,) = folder.rglob("repeat.py")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = os.pathsep.join([str(_without_ours(folder)), str(Path(__file__).parent)])
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout + done.stderr


def _without_ours(folder: Path) -> Path:
    """A package of our name that cannot be imported."""
    shadow = folder.parent / "shadow"
    shadow.mkdir(exist_ok=True)
    (shadow / "tensortap.py").write_text("raise ImportError('a repeated op needs no collector')")
    return shadow


@pytest.mark.parametrize(("level", "op"), [("L0", "Module.rare.Rare.forward.0"), ("mix", "Torch.log.0.forward"), ("L1", "Torch.log.0.forward")])
def test_the_op_of_that_step_is_kept_and_repeats_it_alone(level: str, op: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _train(tmp_path, level=level, on_nan="keep")
    said = capsys.readouterr().err
    assert f"step 5, op {op}" in said and "NaN in output 0, 8 of 8 elements, the first at [0, 0]" in said and "repeat.py" in said
    step = next(step for step in reading.only(tmp_path / "spool").steps if step.number == 5)
    assert {(row[0], row[1]) for row in step.payloads} >= {(op, "input"), (op, "output")}
    assert all((tmp_path / "kept" / row[3]).is_file() for row in step.payloads)
    assert [(name, kind) for name, kind, _, _ in step.failures] == [(op, "not finite")]
    status, text = repeated(tmp_path / "kept")
    assert status == 0 and "again: output 0: 8 of 8 elements are not finite, the first at [0, 0]: nan" in text, text


def test_keep_and_the_raw_tensors_of_a_run_have_files_of_their_own(tmp_path: Path) -> None:
    _train(tmp_path, on_nan="keep", task="tensor")
    status, text = repeated(tmp_path / "kept")
    assert status == 0 and "not kept" not in text, text
    rows = next(step for step in reading.only(tmp_path / "spool").steps if step.failures).payloads
    assert all((tmp_path / "kept" / row[3]).is_file() for row in rows)
    assert len(rows) == len({row[:3] for row in rows})


def test_a_nan_made_between_modules_is_of_the_module_around(tmp_path: Path) -> None:
    _train(tmp_path, rare.Within(rare.Outer()), on_nan="keep")
    status, text = repeated(tmp_path / "kept")
    assert status == 0 and text.startswith("step 5, op Module.part.Outer.forward.0 of module part: NaN in output 0"), text


def test_what_an_op_writes_into_is_copied_before_it(tmp_path: Path) -> None:
    """That it does is learned at its first call."""
    model = nn.Sequential(nn.Linear(4, 4), rare.Overwrites())
    model.forward = lambda given, rare: model[1](model[0](given), rare)  # type: ignore[method-assign]
    _train(tmp_path, model, on_nan="keep")
    status, text = repeated(tmp_path / "kept")
    assert status == 0 and "+Inf in output 0" in text and "not kept" not in text, text


def test_what_was_overwritten_unseen_is_said_to_be_lost(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), rare.Overwrites())
    model.forward = lambda given, rare: model[1](model[0](given), True)  # type: ignore[method-assign]
    _train(tmp_path, model, steps=1, on_nan="keep")
    status, text = repeated(tmp_path / "kept")
    assert status == 2 and "not kept: input 0: it was written in place since" in text, text


@pytest.mark.parametrize("asks", [False, True])
def test_a_module_is_kept_without_what_cannot_be_pickled(asks: bool, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), rare.Odd(asks))
    model.forward = lambda given, rare: model[1](model[0](given), rare)  # type: ignore[method-assign]
    _train(tmp_path, model, on_nan="keep")
    status, text = repeated(tmp_path / "kept")
    lacks = "_thread.lock, rare.Odd.__init__.<locals>.<lambda>"
    assert f"not kept: module.pt: it lacks {lacks}, which cannot be pickled" in text, text
    assert status == (2 if asks else 0) and ("the op cannot be repeated without " + lacks in text) == asks, text


def test_random_numbers_are_those_from_before_the_op(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), rare.Random())
    model.forward = lambda given, rare: model[1](model[0](given), rare)  # type: ignore[method-assign]
    _train(tmp_path, model, on_nan="keep", level="L0")
    told = next(one for one in reading.only(tmp_path / "spool").steps if one.failures).failures[0][2]
    status, text = repeated(tmp_path / "kept")
    where = told.partition("elements, the first at ")[2].partition(";")[0]
    assert status == 0 and f"the first at {where}" in text.partition("again:")[2], text


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_raise_raises_in_the_op(level: str, tmp_path: Path) -> None:
    with pytest.raises(tensortap.NotFinite, match="NaN in output 0, 8 of 8 elements") as raised:
        _train(tmp_path, level=level, on_nan="raise")
    assert isinstance(raised.value, FloatingPointError)
    assert any(entry.path.name == "rare.py" for entry in raised.traceback)
    (failure,) = (failure for step in reading.only(tmp_path / "spool").steps for failure in step.failures)
    assert failure[1] == "tensortap.NotFinite" and failure[0] == ("Torch.log.0.forward" if level != "L0" else "Module.rare.Rare.forward.0")
    assert not (tmp_path / "kept").exists()


class _Masks(nn.Module):
    def forward(self, given: Tensor) -> Tensor:
        masked = given.masked_fill(given > 0, float("-inf"))
        filled = torch.full_like(given, float("inf"))
        return (masked.softmax(dim=-1) + torch.where(given < 9, given, filled)).nan_to_num()


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_masks_and_memory_that_nobody_wrote_are_no_reason(level: str, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), _Masks(), nn.Linear(4, 4))
    with tensortap.tap(model, run="r", spool=tmp_path / "spool", level=level, on_nan="keep,raise", payload_folder=tmp_path / "kept") as tap:
        for _ in range(2):
            model(torch.ones(2, 4) + torch.empty(2, 4).fill_(0.0)).sum().backward()
            tap.step()
    assert not (tmp_path / "kept").exists()


def test_a_loss_that_no_module_made_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    with tensortap.tap(model, run="r", spool=tmp_path / "spool", on_nan="keep", payload_folder=tmp_path / "kept"):
        (model(torch.ones(2, 4)).sum() * float("nan")).backward()
    assert "step 0, op Loss.0.debug: NaN in input 0, 1 of 1 elements, the first at []; no op that is recorded made it" in capsys.readouterr().err
    (step,) = reading.only(tmp_path / "spool").steps
    assert [row[:3] for row in step.payloads] == [("Loss.0.debug", "input", "0")]


def test_a_poisoned_request_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tensortap._record.served_requests import Request

    model = nn.Sequential(nn.Embedding(8, 4), nn.Linear(4, 4))
    with torch.no_grad():
        model[0].weight[5, 2] = float("nan")  # type: ignore[index]
    tap = tensortap.tap(model, run="r", spool=tmp_path / "spool", detail_steps=0, on_nan="keep", payload_folder=tmp_path / "kept")
    for step in range(3):
        ids = torch.tensor([1, 2, 5 if step == 1 else 3, 4])
        tap.start()
        tap.serve([Request("r0", "prefill", 2, row=0), Request("r1", "prefill", 2, row=2)])
        with torch.inference_mode():
            model(ids)
        tap.step()
    tap.close()
    told = capsys.readouterr().err
    assert "step 1, op Module.0.Embedding.forward.0 of module 0: NaN in output 0, 1 of 16 elements, the first at [2, 2]; of request r1; its parameter weight is not finite already" in told
    assert repeated(tmp_path / "kept")[0] == 0


@pytest.mark.parametrize(("level", "op"), [("L0", "Module.1.Root.forward.0"), ("mix", "Tensor.sqrt.0.forward"), ("L1", "Tensor.sqrt.0.forward")])
def test_an_op_whose_backward_makes_a_nan_is_kept_with_the_gradient_that_it_was_given(level: str, op: str, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), rare.Root(), nn.Linear(4, 2))
    model.forward = lambda given, rare: model[2](model[1](model[0](given), rare))  # type: ignore[method-assign]
    _train(tmp_path, model, level=level, on_nan="keep")
    (failure,) = (failure for step in reading.only(tmp_path / "spool").steps for failure in step.failures)
    status, text = repeated(tmp_path / "kept")
    assert failure[0] == op and "in the gradient of output 0 of Module.0.Linear.forward.0" in failure[2] or level == "L1"
    assert status == 0 and "again: gradient of input 0: " in text, text


def test_gradients_that_overflow_in_a_scaled_step_are_no_reason(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=3e38)
    with tensortap.tap(model, run="r", spool=tmp_path / "spool", on_nan="keep,raise", payload_folder=tmp_path / "kept") as tap:
        scaler.scale(model(torch.full((2, 4), 1e4)).square().sum()).backward()
        assert any(not parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
        scaler.step(optimizer)
        scaler.update()
        tap.step()
    assert not (tmp_path / "kept").exists()


def test_what_is_computed_again_by_checkpointing_is_kept_like_any_other(tmp_path: Path) -> None:
    from torch.utils.checkpoint import checkpoint

    model = rare.Model()
    inner = model.rare.forward
    model.rare.forward = lambda given, rare=False: checkpoint(inner, given, rare, use_reentrant=False)  # type: ignore[method-assign]
    _train(tmp_path, model, on_nan="keep")
    (failure,) = (failure for step in reading.only(tmp_path / "spool").steps for failure in step.failures)
    assert failure[0] == "Module.rare.Rare.forward.0" and "not kept: the module" in failure[2] or "module.pt" in failure[2], failure


def test_what_a_step_is_held_for_has_a_limit(tmp_path: Path) -> None:
    """The op under way is kept whatever the limit; one that is complete is not, when its backward asks for it."""
    _train(tmp_path / "forward", on_nan="keep", on_nan_bytes=0)
    assert repeated(tmp_path / "forward" / "kept")[0] == 0
    model = nn.Sequential(nn.Linear(4, 4), rare.Root(), nn.Linear(4, 2))
    model.forward = lambda given, rare: model[2](model[1](model[0](given), rare))  # type: ignore[method-assign]
    _train(tmp_path / "backward", model, on_nan="keep", on_nan_bytes=0)
    (failure,) = (failure for step in reading.only(tmp_path / "backward" / "spool").steps for failure in step.failures)
    assert "its inputs are no longer held: 3 calls were let go of beyond 0 bytes (on_nan_bytes)" in failure[2]


def test_a_process_alone_ends_after_the_step_with_the_status_that_is_documented(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tensortap._session.halting import STATUS

    steps: list[int] = []
    with pytest.raises(SystemExit) as ended:
        model = rare.Model()
        model.register_forward_pre_hook(lambda *_: steps.append(len(steps)))
        _train(tmp_path, model, on_nan="stop")
    assert ended.value.code == STATUS and steps == list(range(6))
    assert f"rank 0: ends after step 5, with status {STATUS}, as on_nan asks: NaN in output 0" in capsys.readouterr().err
    assert [step.number for step in reading.only(tmp_path / "spool").steps if step.ended] == list(range(6))


def test_nothing_is_held_without_it_and_all_is_undone(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    with tensortap.tap(model, run="r", spool=tmp_path / "one", on_nan="record") as tap:
        model(torch.ones(2, 4))
        assert tap._steps.process is not None and tap._steps.process.nan_watch is None and tap._steps.process.recorder.on_nan is None
    before = len(_global_optimizer_pre_hooks)
    with tensortap.tap(model, run="r", spool=tmp_path / "two", on_nan="keep") as tap:
        model(torch.ones(2, 4))
        assert len(_global_optimizer_pre_hooks) > before
    assert len(_global_optimizer_pre_hooks) == before


def test_no_op_is_kept_where_another_user_could_exchange_what_repeats_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    _train(tmp_path, on_nan="keep")
    assert list(kept.rglob("repeat.py")) and all(path.stat().st_mode & 0o777 == 0o700 for path in kept.rglob("*") if path.is_dir())
    kept.chmod(0o777)
    before = len(list(kept.rglob("repeat.py")))
    _train(tmp_path, on_nan="keep")
    assert len(list(kept.rglob("repeat.py"))) == before
    assert "may be written by other users (mode 0777)" in capsys.readouterr().err
