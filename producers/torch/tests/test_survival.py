"""Whatever happens in a model's process, the model does not notice us, and we go on."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import resource
import struct
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from models import small, train
from torch import Tensor, nn

import tensortap
from tensortap._hooks import function_mode, modules, optimizers
from tensortap._record import argument_trees, call_rows, op_names, recorder, tensor_rows
from tensortap._session import forwards, step_boundaries
from tensortap._spool import layout, segments, spool

LEVELS = ("L0", "L1", "mix")


def _losses(level: str, root: Path, steps: int = 4) -> list[Tensor]:
    model, batch = small()
    with tensortap.tap(model, run="survival", level=level, spool=root):
        return train(model, batch, steps)


INJECTED: list[tuple[Any, str]] = [
    (modules.ModuleHooks, "_before"),
    (modules.ModuleHooks, "_after"),
    (modules.ModuleHooks, "_follow"),
    (modules.ModuleHooks, "_gradient"),
    (modules.BackwardCall, "given"),
    (function_mode.ApiMode, "_before"),
    (function_mode.ApiMode, "_after"),
    (function_mode.ApiMode, "_follow"),
    (op_names.Calls, "take"),
    (op_names.Api, "calls"),
    (argument_trees.Walker, "_keep"),
    (op_names.Names, "backward"),
    (tensor_rows.Observer, "tensor"),
    (argument_trees.Walker, "positional"),
    (argument_trees.Walker, "named"),
    (recorder.Recorder, "begin"),
    (recorder.Recorder, "opens"),
    (recorder.Recorder, "closes"),
    (call_rows.CallRows, "opens"),
    (call_rows.CallRows, "closes"),
    (tensor_rows.Observer, "take"),
    (recorder.Recorder, "gradients"),
    (optimizers.OptimizerHooks, "_before"),
    (optimizers.OptimizerHooks, "_after"),
    (step_boundaries.Boundaries, "begins_step"),
    (forwards.Forwards, "begins"),
    (spool.Spool, "op"),
    (spool.Spool, "reserve"),
    (spool.Spool, "advance"),
    (spool.Spool, "literal"),
    (spool.Spool, "hold"),
    (segments.Ring, "unmap_retired"),
    (spool.Spool, "number"),
    (spool.Spool, "define"),
]


@pytest.mark.parametrize(("owner", "name"), INJECTED, ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_an_error_of_ours_at_any_place_does_not_reach_the_model(
    owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, batch = small()
    without = train(model, batch, 1)
    without += train(model, batch, 3)
    raised = []
    original = getattr(owner, name)

    def broken(*args: Any, **kwargs: Any) -> Any:
        if armed:
            raised.append(name)
            raise ValueError("injected")
        return original(*args, **kwargs)

    armed: list[bool] = []
    monkeypatch.setattr(owner, name, broken)
    model, batch = small()
    session = tensortap.tap(model, run="survival", level="mix", spool=tmp_path)
    losses = train(model, batch, 1)
    armed.append(True)
    model.blocks[0].act.inplace = "yes"  # as true, and a literal that has no definition yet
    losses += train(model, batch, 2)
    armed.clear()
    losses += train(model, batch, 1)
    session.close()
    monkeypatch.undo()
    assert raised, "the place was never reached"
    assert all(torch.equal(one, other) for one, other in zip(losses, without, strict=True))
    counted = {key: count for step in reading.only(tmp_path).steps for key, count in step.unseen.items() if key[0] == "hook error"}
    assert counted and all(subject.endswith("ValueError") for _, subject in counted)
    assert capsys.readouterr().err.count("injected") >= 1
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("level", LEVELS)
def test_a_model_that_raises_and_goes_on_is_recorded_with_its_failure(level: str, tmp_path: Path) -> None:
    model, batch = small()
    with tensortap.tap(model, run="survival", level=level, spool=tmp_path) as session:
        session.start()
        with pytest.raises(RuntimeError):
            model(torch.randn(3, 5))
        model(batch)
        session.step()
        model(batch)
    first, second = reading.only(tmp_path).steps
    (op, kind, message, inputs) = first.failures[0]
    assert len(first.failures) == 1
    assert kind == "RuntimeError" and "normalized_shape" in message and "float32[3, 5]" in inputs
    assert op.startswith("Module.blocks.0.norm" if level == "L0" else "Functional.layer_norm")
    if level != "L1":
        assert second.parents["Module.blocks.1.up.Linear.forward.0"] == "Module.blocks.1.Block.forward.0"
        assert first.parents["Module.blocks.1.Block.forward.0"] is None, "the stack was unwound"


class _Interrupted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            raise KeyboardInterrupt
        return x


def test_an_interrupt_that_no_hook_sees_leaves_no_frame_behind(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Sequential(nn.Identity(), _Interrupted()), nn.ReLU())
    with tensortap.tap(model, run="survival", level="L0", spool=tmp_path):
        with pytest.raises(KeyboardInterrupt):
            model(torch.ones(2))
        model(-torch.ones(2))
    second = reading.only(tmp_path).steps[1]
    assert second.parents["Module.0.Sequential.forward.0"] is None
    assert second.parents["Module.0.1._Interrupted.forward.0"] == "Module.0.Sequential.forward.0"


@pytest.mark.parametrize("level", LEVELS)
def test_compiled_models_run_and_what_is_not_seen_is_counted(level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch._dynamo.reset()
    model, batch = small()
    want = train(copy.deepcopy(model), batch, 2)
    compiled = torch.compile(model, backend="eager")
    with tensortap.tap(compiled, run="survival", level=level, spool=tmp_path):
        losses = train(compiled, batch, 2)
    assert all(torch.allclose(one, other) for one, other in zip(losses, want, strict=True))
    unseen = [step.unseen for step in reading.only(tmp_path).steps]
    assert any(reason == "compiled" for step in unseen for reason, _ in step)
    assert capsys.readouterr().err.count("compiled code") == 1, "a user is told once, as it begins"


def test_what_torch_compile_leaves_eager_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    model, batch = small()
    model.compile(backend="eager")  # type: ignore[no-untyped-call]
    with tensortap.tap(model, run="survival", level="L0", spool=tmp_path):
        model(batch)
    step = reading.only(tmp_path).steps[0]
    assert not step.unseen and "Module.blocks.0.up.Linear.forward.0" in step.parents


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_contexts_of_torch_are_recorded(level: str, context: Callable[[], Any], tmp_path: Path) -> None:
    model, batch = small()
    with context():
        want = model(batch)
    with tensortap.tap(model, run="survival", level=level, spool=tmp_path), context():
        assert torch.equal(model(batch), want)
    step = reading.only(tmp_path).steps[0]
    assert step.values and not step.unseen


@dataclasses.dataclass
class _Pair:
    left: Tensor
    right: Any


_Named = namedtuple("_Named", "first second")


class _Exotic(nn.Module):
    def __init__(self, make: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: Tensor) -> Any:
        return self.make(x)


def _numbers(x: Tensor) -> Iterator[Tensor]:
    yield x


EXOTIC: dict[str, tuple[Callable[[Tensor], Any], list[str]]] = {
    "none": (lambda x: None, ["0"]),
    "dataclass": (lambda x: _Pair(x, [x, None]), ["0.left", "0.right.0", "0.right.1"]),
    "dict": (lambda x: {"a": x, "b": {"c": x}}, ["0.a", "0.b.c"]),
    "namedtuple": (lambda x: _Named(x, 3), ["0.first", "0.second"]),
    "generator": (_numbers, ["0"]),
    "meta": (lambda x: torch.empty(3, device="meta"), ["0"]),
    "sparse": (lambda x: x.to_sparse(), ["0"]),
    "vmap": (lambda x: torch.vmap(lambda row: row * 2)(x), ["0"]),
}


@pytest.mark.parametrize("kind", EXOTIC)
@pytest.mark.parametrize("level", LEVELS)
def test_any_output_passes_and_is_recorded_or_counted(kind: str, level: str, tmp_path: Path) -> None:
    make, paths = EXOTIC[kind]
    model = nn.Sequential(_Exotic(make))
    with tensortap.tap(model, run="survival", level=level, spool=tmp_path):
        result = model(torch.ones(2, 2))
    if kind == "generator":
        assert torch.equal(next(result), torch.ones(2, 2)), "it was not consumed"
    step = reading.only(tmp_path).steps[0]
    assert not any(reason == "hook error" for reason, _ in step.unseen), step.unseen
    if level != "L1":
        found = [value.path for value in step.values if value.role == "output" and value.op.startswith("Module.0")]
        assert found[: len(paths)] == paths
    if kind in ("meta", "sparse") and level != "L1":
        assert any(reason == "unsupported tensor" for reason, _ in step.unseen)


def test_models_with_hooks_are_copied_and_saved(tmp_path: Path) -> None:
    model, batch = small()
    with tensortap.tap(model, run="survival", level="mix", spool=tmp_path):
        want = model(batch)
        twin = copy.deepcopy(model)
        assert torch.equal(twin(batch), want)
        restored = pickle.loads(pickle.dumps(model.state_dict()))
        assert all(torch.equal(restored[name], value) for name, value in model.state_dict().items())
        copied = pickle.loads(pickle.dumps(model))
        assert torch.equal(copied(batch), want)
    assert len(reading.only(tmp_path).steps) == 1, "a copy is not tapped"


def test_two_taps_at_once_record_each(tmp_path: Path) -> None:
    model, batch = small()
    with (
        tensortap.tap(model, run="one", level="mix", spool=tmp_path / "one"),
        tensortap.tap(model, run="two", level="mix", spool=tmp_path / "two"),
    ):
        train(model, batch, 2)
    one, two = (reading.only(tmp_path / name).steps for name in ("one", "two"))
    assert [step.completed for step in one] == [step.completed for step in two]


def test_taps_that_end_in_the_order_in_which_they_began_leave_nothing(tmp_path: Path) -> None:
    model, batch = small()
    first = tensortap.tap(model, run="one", level="mix", spool=tmp_path / "one")
    second = tensortap.tap(model, run="two", level="mix", spool=tmp_path / "two")
    train(model, batch, 1)
    first.close()
    train(model, batch, 1)
    second.close()
    assert torch._C._len_torch_function_stack() == 0
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any(parameter._post_accumulate_grad_hooks for parameter in model.parameters())
    train(model, batch, 1)
    assert [len(reading.only(tmp_path / name).steps) for name in ("one", "two")] == [1, 2]


def test_stop_in_mid_forward(tmp_path: Path) -> None:
    model, batch = small()
    session = tensortap.tap(model, run="survival", level="mix", spool=tmp_path)
    handle = model.blocks[1].act.register_forward_hook(lambda *_: session.stop())
    want = model(batch)
    handle.remove()
    assert torch._C._len_torch_function_stack() == 0
    session.start()
    assert torch.equal(model(batch), want)
    session.close()
    assert reading.only(tmp_path).header["state"] == 2


def test_a_mode_of_the_user_around_and_within_stays_in_order(tmp_path: Path) -> None:
    model, batch = small()
    with torch.device("meta"):
        session = tensortap.tap(model, run="survival", level="mix", spool=tmp_path)
        model(batch)
    assert torch.empty(1).device.type == "cpu", "the user's mode is gone, not ours in its place"
    with torch.device("meta"):
        session.close()
        assert torch.empty(1).device.type == "meta"
    assert torch._C._len_torch_function_stack() == 0


def test_a_child_that_was_forked_writes_a_spool_of_its_own(tmp_path: Path) -> None:
    model, batch = small()
    with tensortap.tap(model, run="survival", level="mix", spool=tmp_path):
        train(model, batch, 1)
        child = os.fork()
        if child == 0:
            try:
                train(model, batch, 2)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        train(model, batch, 1)
    spools = {int(folder.name.partition("-")[0]): reading.read(folder) for folder in tmp_path.iterdir()}
    assert sorted(spools) == sorted((os.getpid(), child))
    assert len(spools[os.getpid()].steps) == 2
    assert len(spools[child].steps) == 2 and spools[child].steps[0].values


def test_another_thread_may_run_the_model(tmp_path: Path) -> None:
    model, batch = small()
    want = model(batch)
    results: list[Tensor] = []
    with tensortap.tap(model, run="survival", level="mix", spool=tmp_path):
        model(batch)
        threads = [threading.Thread(target=lambda: results.append(model(batch))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model(batch)
    assert all(torch.equal(result, want) for result in results) and len(results) == 4
    counted = [key for step in reading.only(tmp_path).steps for key in step.unseen]
    assert any(reason == "other thread" for reason, _ in counted)
    assert not any(reason == "hook error" for reason, _ in counted)


def test_without_an_agent_the_spool_is_a_ring_of_the_last_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spool.Spool.__init__.__kwdefaults__, "segment_rows", 256)
    model, batch = small()
    want = train(copy.deepcopy(model), batch, 10)
    with tensortap.tap(model, run="survival", level="mix", spool=tmp_path, segments=3):
        assert all(torch.equal(one, other) for one, other in zip(train(model, batch, 10), want, strict=True))
    folder = next(tmp_path.iterdir())
    header = reading.read_header(folder)
    assert len(list(folder.glob("rows-*"))) <= 4
    assert header["first_segment"] > 0 and header["dropped_count"] > 0


def test_while_an_agent_looks_tensors_are_dropped_but_for_those_that_are_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(spool.Spool.__init__.__kwdefaults__, "segment_rows", 256)
    model, batch = small()
    want = train(copy.deepcopy(model), batch, 5)
    tap = tensortap.tap(model, run="survival", level="L0", spool=tmp_path, segments=2)
    losses = train(model, batch, 1)
    agent = next(tmp_path.iterdir()) / "header"
    with agent.open("r+b") as header:
        header.seek(layout.AGENT_OFFSET)
        header.write(struct.pack("<QI", time.time_ns(), 0))
    losses += train(model, batch, 4)
    assert all(torch.equal(one, other) for one, other in zip(losses, want, strict=True))
    batch[0, 0] = float("nan")
    train(model, batch, 1)
    tap.close()
    spooled = reading.only(tmp_path)
    assert spooled.header["first_segment"] == 0 and spooled.header["next_segment"] == 3
    assert spooled.header["dropped_count"] > 0
    last = [row for kind, row in spooled.rows if kind == "counts"]
    assert last and last[-1][0] > 0, "the reserve kept what is not a number"


def test_a_full_disk_costs_rows_and_nothing_else(tmp_path: Path) -> None:
    """In a child, since the limit on the size of files is the process's."""
    model, batch = small()
    twin = copy.deepcopy(model)
    want = train(twin, batch, 2)
    want += train(twin, batch, 4)
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))
            with tensortap.tap(model, run="survival", level="mix", spool=tmp_path):
                losses = train(model, batch, 2)
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
                model.blocks[0].act.inplace = "yes"  # as true, and a literal whose definition has no room
                losses += train(model, batch, 4)
            os._exit(0 if all(torch.equal(one, other) for one, other in zip(losses, want, strict=True)) else 3)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    spooled = reading.only(tmp_path)
    assert len(spooled.steps) == 6 and spooled.header["state"] == 2
