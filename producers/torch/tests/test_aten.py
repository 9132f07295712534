"""Level aten: calls are counted by what they are given and give back, and nothing is changed for the model."""

from __future__ import annotations

import functools
import runpy
import signal
import subprocess
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import reading
import torch
from models import small, train
from torch import Tensor, nn
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode

import tensortap
from tensortap import _torch_compat
from tensortap._config.settings import SettingsError
from tensortap._hooks import aten_counted, aten_each, aten_mode, jit_traces
from tensortap._hooks.mode_stacks import DISPATCHES
from tensortap._record import heard_calls

STEPS = 50


class _Counting(TorchDispatchMode):
    """Counts calls by the name of the op, as anybody would."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


def _calls(spooled: reading.Spooled, step: reading.Step) -> dict[tuple[str, tuple[str, ...], tuple[str, ...], str], int]:
    """How often a step called what: by op, inputs, outputs and module."""
    found = {}
    for signature, module, count in step.calls:
        what = spooled.named("signature", signature)
        path = spooled.named("text", module)["text"] if module else ""
        found[what["name"], tuple(what["inputs"]), tuple(what["outputs"]), path] = count
    return found


def _tapped(spool: Path, model: nn.Module, **settings: Any) -> Any:
    return tensortap.tap(model, run="aten", level="aten", spool=spool, **settings)


def test_a_loop_of_equal_steps_is_counted_and_defined_once(tmp_path: Path) -> None:
    model, batch = small()
    with _tapped(tmp_path, model) as tap, torch.no_grad(), _Counting() as other:
        for _ in range(STEPS):
            model(batch)
        tap.close()
    spooled = reading.only(tmp_path)
    steps = [_calls(spooled, step) for step in spooled.steps]
    assert len(steps) == STEPS and all(step == steps[0] for step in steps)
    total: Counter[str] = Counter()
    for step in steps:
        for (name, _, _, _), count in step.items():
            total[name] += count
    assert total == other.counts
    signatures = [one for one in spooled.definitions if one["d"] == "signature"]
    assert len(signatures) == len({(name, inputs, outputs) for name, inputs, outputs, _ in steps[0]})
    assert sum(steps[0].values()) * STEPS == sum(other.counts.values())


def test_many_equal_calls_of_one_step_are_one_record(tmp_path: Path) -> None:
    model, batch = small()
    with _tapped(tmp_path, model) as tap, torch.no_grad():
        model(batch)
        for _ in range(STEPS - 1):
            model.head(batch)
        tap.step()
    spooled = reading.only(tmp_path)
    heads = [count for (name, _, _, path), count in _calls(spooled, spooled.steps[0]).items() if (name, path) == ("aten.addmm.default", "head")]
    assert heads == [STEPS]


def test_a_signature_tells_dtypes_shapes_and_strides(tmp_path: Path) -> None:
    model, batch = small()
    with _tapped(tmp_path, model):
        model(batch)
    spooled = reading.only(tmp_path)
    wanted = (
        "aten.addmm.default",
        ("self: float32[4] strides [1] cpu", "mat1: float32[8, 16] strides [16, 1] cpu", "mat2: float32[16, 4] strides [1, 16] cpu"),
        ("float32[8, 4] strides [4, 1] cpu",),
        "head",
    )
    assert _calls(spooled, spooled.steps[0])[wanted] == 1


def test_numbers_are_no_part_of_a_signature(tmp_path: Path) -> None:
    class Scaled(nn.Module):
        def forward(self, given: Tensor) -> Tensor:
            return given * 0.5 + given * 0.25

    model = Scaled()
    with _tapped(tmp_path, model), torch.no_grad():
        model(torch.ones(3))
    spooled = reading.only(tmp_path)
    assert sorted(count for (name, *_), count in _calls(spooled, spooled.steps[0]).items() if "mul" in name) == [2]


def test_ops_of_backward_are_of_no_module(tmp_path: Path) -> None:
    model, batch = small(checkpointed=True)
    with _tapped(tmp_path, model):
        train(model, batch, 1)
    spooled = reading.only(tmp_path)
    paths = {name: path for name, _, _, path in _calls(spooled, spooled.steps[0])}
    assert paths["aten.threshold_backward.default"] == ""
    assert paths["aten.relu_.default"].endswith(".act")


@pytest.mark.parametrize("calls", ["counted", "each"])
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_results_are_the_same_without_gradients(calls: str, context: Any, tmp_path: Path) -> None:
    model, batch = small()
    with context():
        alone = model(batch)
        with _tapped(tmp_path, model, calls=calls):
            seen = model(batch)
    assert torch.equal(alone, seen)
    assert reading.only(tmp_path).steps[0].unseen == {}


class _Parts(nn.Module):
    """Calls composite ops, whose parts autocast and views of parameters decide about."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 4)

    def forward(self, given: Tensor) -> tuple[Tensor, ...]:
        folded = self.inner(given.transpose(0, 1))  # not contiguous: a weight that requires gradients has it folded
        with torch.autocast("cpu", torch.bfloat16):
            return folded, torch.einsum("bij,bkj->bik", given, given), self.inner.weight.reshape(-1)


@pytest.mark.parametrize("settings", [{}, {"calls": "each"}, {"ops": ["mm*"]}])
def test_parts_of_composite_ops_are_dispatched_as_without_the_mode(settings: dict[str, Any], tmp_path: Path) -> None:
    model, batch = _Parts(), torch.randn(2, 3, 8)
    with torch.inference_mode():
        alone = model(batch)
        with _tapped(tmp_path, model, **settings):
            seen = model(batch)
    assert [one.dtype for one in alone] == [torch.float32, torch.bfloat16, torch.float32]
    assert all(torch.equal(one, other) and one.dtype == other.dtype and one.requires_grad == other.requires_grad for one, other in zip(alone, seen, strict=True))


@pytest.mark.parametrize("settings", [{}, {"calls": "each"}, {"ops": ["mm*"]}])
@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_what_an_op_conjugates_is_conjugated(context: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    model, given = nn.Linear(2, 2), torch.randn(4, 3, dtype=torch.complex64)
    with context():
        alone = torch.linalg.pinv(given)
        with _tapped(tmp_path, model, **settings):
            model(torch.ones(1, 2))
            assert torch.equal(torch.linalg.pinv(given), alone)


def test_a_composite_op_is_counted_whole_in_inference_mode(tmp_path: Path) -> None:
    model = _Parts()
    with torch.inference_mode(), _tapped(tmp_path, model):
        model(torch.randn(2, 3, 8))
    spooled = reading.only(tmp_path)
    found = Counter(name for name, *_ in _calls(spooled, spooled.steps[0]))
    assert found["aten.linear.default"] == found["aten.einsum.default"] == found["aten.reshape.default"] == 1
    assert not any("mm" in name for name in found)


@pytest.mark.parametrize("by", ["kernel", "Python"])
@pytest.mark.parametrize("settings", [{}, {"calls": "each"}, {"ops": ["mm*"]}])
def test_an_interrupt_leaves_the_dispatcher_as_it_was(settings: dict[str, Any], by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "Python":
        monkeypatch.setattr(heard_calls, "_hearing", None)

    def interrupted(x: Tensor) -> Tensor:
        raise KeyboardInterrupt

    with torch.library._scoped_library("interrupts", "FRAGMENT") as library, torch.inference_mode():
        library.define("now(Tensor x) -> Tensor")
        library.impl("now", interrupted, "CompositeImplicitAutograd")
        before = torch._C._dispatch_tls_local_exclude_set()
        with _tapped(tmp_path, _Parts(), **settings) as tap:
            tap.start()
            with pytest.raises(KeyboardInterrupt) as kept:
                torch.ops.interrupts.now(torch.ones(1))
        assert torch._C._dispatch_tls_local_exclude_set() == before
        assert kept.value.__traceback__  # and with it the frames in which the op was called


_INTERRUPTED = """
import signal, sys
import torch
import tensortap
from tensortap._record import heard_calls

if sys.argv[2] == "Python":
    heard_calls._hearing = None
excluded = torch._C._dispatch_tls_local_exclude_set
hooked = torch.nn.Linear(2, 2)
signal.signal(signal.SIGALRM, signal.default_int_handler)
with torch.inference_mode(), tensortap.tap(hooked, run="interrupted", level="aten", spool=sys.argv[1]) as tap:
    tap.start()
    given, before = torch.randn(8, 1000, 1000), excluded()
    torch.einsum("bij,bkj->bik", given[:1], given[:1])
    signal.setitimer(signal.ITIMER_REAL, 0.02)  # einsum has begun, and takes longer
    try:
        while True:
            torch.einsum("bij,bkj->bik", given, given)
    except KeyboardInterrupt as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.exit(0 if excluded() == before and error.__traceback__ else 3)
"""


@pytest.mark.parametrize("by", ["kernel", "Python"])
def test_a_signal_during_an_op_leaves_the_dispatcher_as_it_was(by: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED, str(tmp_path), by], check=False, timeout=120)
    assert done.returncode == 0


@pytest.mark.parametrize("settings", [{}, {"calls": "each"}, {"ops": ["mm*"]}])
def test_an_error_of_ours_about_parts_does_not_reach_the_model(settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Any:
        raise ZeroDivisionError

    for name in ("dispatch_needs", "run_of"):
        monkeypatch.setattr(aten_mode, name, failing)
    monkeypatch.setattr(aten_counted if "calls" not in settings else aten_each, "run_of", failing)
    _check_failing(settings, tmp_path / "before")
    monkeypatch.undo()
    monkeypatch.setattr(aten_mode, "is_in_torch_dispatch_mode", failing)
    _check_failing(settings, tmp_path / "within")


def _check_failing(settings: dict[str, Any], spool: Path) -> None:
    model, batch = nn.Linear(8, 4), torch.randn(2, 8)
    with torch.inference_mode():
        alone = model(batch)
        with _tapped(spool, model, **settings):
            seen = model(batch)
    assert torch.equal(alone, seen)
    assert ("hook error", "aten: ZeroDivisionError") in reading.only(spool).steps[0].unseen


@pytest.mark.parametrize("calls", ["counted", "each"])
def test_what_traces_is_left_alone_and_counted(calls: str, tmp_path: Path) -> None:
    model = nn.Linear(4, 4).requires_grad_(False)
    with _tapped(tmp_path, model, calls=calls), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model(torch.ones(2, 4))
        traced = torch.jit.trace(lambda x: model(x) * 2, torch.ones(2, 4))
        unchecked = torch.jit.trace(lambda x: model(x) * 2.5, torch.ones(2, 4), check_trace=False)
        assert torch._C._len_torch_dispatch_stack() == 1
        assert "Constant" in str(traced.graph)
        for _ in range(3):
            assert torch.equal(traced(torch.ones(2, 4)), model(torch.ones(2, 4)) * 2)
            assert torch.equal(unchecked(torch.ones(2, 4)), model(torch.ones(2, 4)) * 2.5)
        traced.save(str(tmp_path / "traced.pt"))
    spooled = reading.only(tmp_path)
    assert sum(step.unseen.get(("traced", ""), 0) for step in spooled.steps) == 2
    assert not any(reason == "hook error" for step in spooled.steps for reason, _ in step.unseen)


@pytest.mark.parametrize("calls", ["counted", "each"])
def test_what_is_exported_is_the_same(calls: str, tmp_path: Path) -> None:
    model, batch = small()
    alone = str(torch.export.export(model, (batch,)).graph)
    with _tapped(tmp_path, model, calls=calls):
        model(batch)
        assert str(torch.export.export(model, (batch,)).graph) == alone
    assert not any(reason == "hook error" for step in reading.only(tmp_path).steps for reason, _ in step.unseen)


def test_a_trace_in_which_the_first_step_begins_is_left_alone(tmp_path: Path) -> None:
    model = nn.Linear(4, 4).requires_grad_(False)
    with _tapped(tmp_path, model), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(lambda x: model(x) * 2, torch.ones(2, 4))
        model(torch.ones(2, 4))
        assert torch._C._len_torch_dispatch_stack() == 1
    spooled = reading.only(tmp_path)
    assert {name for name, *_ in _calls(spooled, spooled.steps[-1])} == {"aten.t.default", "aten.addmm.default"}
    assert sum(step.unseen.get(("traced", ""), 0) for step in spooled.steps) == 1


def test_a_tracer_that_has_no_code_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(jit_traces._CODES)
    monkeypatch.setattr(_torch_compat.jit_trace, "trace_module", functools.partial(_torch_compat.jit_trace.trace_module))
    assert len(runpy.run_path(jit_traces.__file__)["_CODES"]) == before - 1


def test_a_step_that_begins_in_another_thread_leaves_its_stack_alone(tmp_path: Path) -> None:
    model, left = nn.Linear(4, 4), []

    def step() -> None:
        tap.start()
        model(torch.ones(2, 4))
        tap.step()
        left.append(torch._C._len_torch_dispatch_stack())

    with _tapped(tmp_path, model) as tap:
        step()
        other = threading.Thread(target=step)
        other.start()
        other.join()
        step()
    assert left == [1, 0, 1]
    assert len(reading.only(tmp_path).steps) == 3
    assert torch._C._len_torch_dispatch_stack() == 0


def test_a_step_that_begins_within_an_op_puts_the_mode_on_no_second_time(tmp_path: Path) -> None:
    model = nn.Linear(4, 4)

    def nested(x: Tensor) -> Tensor:
        tap.step()
        return model(x).clone()

    with torch.library._scoped_library("steps", "FRAGMENT") as library, torch.no_grad(), _tapped(tmp_path, model) as tap:
        library.define("nested(Tensor x) -> Tensor")
        library.impl("nested", nested, "CPU")
        model(torch.ones(2, 4))
        torch.ops.steps.nested(torch.ones(2, 4))
        assert torch._C._len_torch_dispatch_stack() == 1
    assert torch._C._len_torch_dispatch_stack() == 0
    assert len(reading.only(tmp_path).steps) == 2


@pytest.mark.parametrize("calls", ["counted", "each"])
@pytest.mark.parametrize("checkpointed", [False, True])
def test_training_is_the_same(calls: str, checkpointed: bool, tmp_path: Path) -> None:
    model, batch = small(checkpointed)
    alone = train(model, batch, 3)
    model, batch = small(checkpointed)
    with _tapped(tmp_path, model, calls=calls):
        seen = train(model, batch, 3)
    assert all(torch.equal(one, other) for one, other in zip(alone, seen, strict=True))
    seen_by_profilers = ("unsupported output", "torch.ScriptObject")
    assert {reason for step in reading.only(tmp_path).steps for reason in step.unseen} <= {seen_by_profilers}


class _Misfit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, given: Tensor, other: Tensor) -> Tensor:
        first = torch.mm(self.inner(given), given.t())
        return torch.mm(first, other)


@pytest.mark.parametrize("calls", ["counted", "each"])
def test_an_op_that_raises_is_kept_with_its_inputs(calls: str, tmp_path: Path) -> None:
    outer = nn.ModuleDict({"misfit": _Misfit()})
    outer.forward = lambda given, other: outer["misfit"](given, other)  # type: ignore[method-assign]
    with _tapped(tmp_path, outer, calls=calls), pytest.raises(RuntimeError) as raised, torch.no_grad():
        outer(torch.ones(2, 4), torch.ones(3, 5).t())
    assert "cannot be multiplied" in str(raised.value) or "size mismatch" in str(raised.value)
    spooled = reading.only(tmp_path)
    ((op, kind, message, inputs),) = spooled.steps[0].failures
    assert (op, kind) == ("Aten.mm.default.1.forward", "RuntimeError")
    assert message == str(raised.value)
    assert inputs.splitlines() == ["input.0: float32[2, 2] strides [2, 1] cpu", "input.1: float32[5, 3] strides [1, 5] cpu"]
    row = next(row for name, row in spooled.rows if name == "failure")
    assert spooled.named("text", row[-1])["text"] == "misfit"
    assert any("in forward" in frame for frame in spooled.named("stack", row[5])["frames"])
    if calls == "counted":
        outputs = [outputs for name, _, outputs, _ in _calls(spooled, spooled.steps[0]) if name == "aten.mm.default"]
        assert outputs[-1] == ("raised RuntimeError",)


_KILLED = """
import os, signal, sys
import torch
import tensortap

library = torch.library.Library("tapped", "DEF")
library.define("dies(Tensor given, Tensor[] others) -> Tensor")
library.impl("dies", lambda *_: os.kill(os.getpid(), signal.SIGKILL), "CPU")

class Dies(torch.nn.Module):
    def forward(self, given):
        return torch.ops.tapped.dies(given + 1, [given.t(), given])

model = torch.nn.Sequential(torch.nn.Linear(2, 3), Dies())
with tensortap.tap(model, run="killed", level="aten", spool=sys.argv[1]):
    model(torch.ones(2, 2))
"""


def test_a_killed_process_leaves_the_op_and_its_inputs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    spooled = reading.only(tmp_path)
    call = spooled.named("call", spooled.header["current_call"])
    assert call["op"] == spooled.header["current_op"]
    assert spooled.named("op", call["op"])["name"] == "Aten.tapped.dies.default"
    assert call["inputs"] == [
        "given: float32[2, 3] strides [3, 1] cpu",
        "others.0: float32[3, 2] strides [1, 3] cpu",
        "others.1: float32[2, 3] strides [3, 1] cpu",
    ]


class _Odd(nn.Module):
    def forward(self, given: Tensor) -> Tensor:
        sparse = torch.sparse.mm(given.to_sparse(), given.t())
        mapped = torch.func.vmap(lambda row: (row * 2).sum())(given)
        halves = torch.split(given, 1)
        own = TwoTensor(given, 2 * given) + 1
        return sparse.sum() + mapped.sum() + torch.cat(halves).sum() + own.b.sum()


@pytest.mark.parametrize("calls", ["counted", "each"])
def test_odd_tensors_break_nothing(calls: str, tmp_path: Path) -> None:
    given, model = torch.arange(6.0).reshape(2, 3), _Odd()
    alone = model(given)
    with _tapped(tmp_path, model, calls=calls):
        seen = model(given)
    assert torch.equal(alone, seen)
    step = reading.only(tmp_path).steps[0]
    assert not [reason for reason, _ in step.unseen if reason == "hook error"]
    if calls == "counted":
        spooled = reading.only(tmp_path)
        cat = [(inputs, outputs) for name, inputs, outputs, _ in _calls(spooled, step) if name == "aten.cat.default"]
        assert cat == [
            (("tensors.0: float32[1, 3] strides [3, 1] cpu", "tensors.1: float32[1, 3] strides [3, 1] cpu"), ("float32[2, 3] strides [3, 1] cpu",))
        ]


def test_what_is_compiled_stays_so(tmp_path: Path) -> None:
    model, batch = small()
    compiled = torch.compile(model, backend="eager")
    alone = compiled(batch)
    with _tapped(tmp_path, compiled):
        assert torch.equal(compiled(batch), alone)
    assert any(reason == "compiled" for reason, _ in reading.only(tmp_path).steps[0].unseen)


def test_modes_of_others_keep_their_order(tmp_path: Path) -> None:
    model, batch = small()
    with _Counting() as outer:
        tap = _tapped(tmp_path, model)
        model(batch)
        with _Counting() as inner:
            model(batch)
            tap.close()
            assert torch._C._len_torch_dispatch_stack() == 2
            assert DISPATCHES.has(inner)
        before = sum(outer.counts.values())
        model(batch)
    assert sum(outer.counts.values()) > before
    assert torch._C._len_torch_dispatch_stack() == 0


def test_filters_are_asked(tmp_path: Path) -> None:
    model, batch = small()
    with _tapped(tmp_path, model, scope="blocks.1*", ops="addmm*"):
        model(batch)
    spooled = reading.only(tmp_path)
    assert {(name, path) for name, _, _, path in _calls(spooled, spooled.steps[0])} == {
        ("aten.addmm.default", "blocks.1.up"),
        ("aten.addmm.default", "blocks.1.down"),
    }
    assert spooled.steps[0].unseen["filtered", "Aten.addmm.default"] == 5


def test_each_call_has_its_statistics(tmp_path: Path) -> None:
    class InPlace(nn.Module):
        def forward(self, given: Tensor) -> Tensor:
            return given.add_(1).mul_(3)

    model = nn.Sequential(InPlace())
    with _tapped(tmp_path, model, calls="each"), torch.no_grad():
        model(torch.zeros(4))
    step = reading.only(tmp_path).steps[0]
    means = {(value.op, value.role, value.path): value.row[6] for value in step.values if value.layout["kind"] == "tensor"}
    assert means["Aten.add_.Tensor.0.forward", "input", "0"] == 0.0
    assert means["Aten.add_.Tensor.0.forward", "output", "0"] == 1.0
    assert means["Aten.mul_.Tensor.0.forward", "input", "0"] == 1.0
    assert means["Aten.mul_.Tensor.0.forward", "output", "0"] == 3.0
    assert means["Module.0.InPlace.forward.0", "output", "0"] == 3.0
    assert step.parents["Aten.mul_.Tensor.0.forward"] == "Module.0.InPlace.forward.0"


def test_range_of_ops_needs_each_call() -> None:
    with pytest.raises(SettingsError, match="take calls=each"):
        _tapped(Path("/nowhere"), nn.Linear(1, 1), between="Aten.mm.default.0.forward,Aten.mm.default.1.forward")
