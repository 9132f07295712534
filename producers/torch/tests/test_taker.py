"""Rows that the kernel writes of whole calls are those that Python writes value by value."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import reading
import tensortap
from tensortap._spool import layout
from tensortap._spool.cursor import Cursor
from tensortap._stats import kernel, taker, torch_tensors

TAKES = kernel.load()
assert TAKES is not None, "make kernel"
Values = tuple[Any, ...]


class Part(nn.Module):
    """Returns what it is given, or something else, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_parameter("none", None)

    def forward(self, *values: Any, **named: Any) -> Any:
        return (*values, *named.values())


class Model(nn.Module):
    def __init__(self, does: Callable[[Part], object]) -> None:
        super().__init__()
        self.part, self.does = Part(), does

    def forward(self, x: Tensor) -> Tensor:
        self.does(self.part)
        return x


class OfOurs(Tensor):
    """A subclass."""


def _in_place(part: Part) -> None:
    x = torch.ones(4)
    part(x)
    x.add_(1)
    part(x)
    x.data[0] = 9
    part(x)


def _views(part: Part) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    part(x, x.t(), x[1:], x.reshape(12), x.detach(), x[:, ::2], x.expand(2, 3, 4), x.view(torch.int32))
    part(x[1:], x, x.reshape(12))


def _same_place(part: Part) -> None:
    for value in range(8):
        part(torch.full((4,), float(value)))  # one after the other in the same memory


def _moved(part: Part) -> None:
    x = torch.ones(4)
    part(x)
    x.resize_(2)
    part(x)
    x.set_(torch.zeros(3))  # type: ignore[no-untyped-call]
    part(x)
    x.requires_grad_()
    part(x)


def _dtypes(part: Part) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.uint8, torch.complex64):
        part(torch.ones(3).to(dtype), torch.zeros(2, 2).to(dtype))


def _odd(part: Part) -> None:
    x = torch.tensor([1 + 2j, 3 - 4j])
    part(x.conj(), x.conj().imag, x.imag, torch.zeros(0), torch.zeros([1] * 8), torch.ones(2).to_sparse(), torch.ones(2).as_subclass(OfOurs))
    part(torch.zeros(2, device="meta"), x.real, torch._efficientzerotensor(2))
    part(torch.vmap(lambda one: part(one)[0] * 2)(torch.ones(2, 3)))


def _not_finite(part: Part) -> None:
    part(torch.tensor([1.0, float("nan")]), torch.ones(2), torch.tensor([float("inf")]), torch.tensor([-float("inf")]), torch.tensor([1e-40]))


def _others(part: Part) -> None:
    part(None, True, False, 7, -1, 1 << 62, 1 << 70, 0.5, float("nan"), "text", [torch.ones(1), 2], {"a": torch.ones(2)}, torch.float32, ...)
    part(*range(70))
    part()
    for named in ({"a": torch.ones(2), "b": None}, {"b": 1, "a": torch.ones(2)}, {"a": [torch.ones(1)]}):
        part(torch.ones(1), **named)


def _gradients(part: Part) -> None:
    x = torch.ones(2, requires_grad=True)
    made = part(x * part.weight, part.weight)
    (made[0] * 3 + made[1]).sum().backward()


CASES = (_in_place, _views, _same_place, _moved, _dtypes, _odd, _not_finite, _others, _gradients)


def _values(folder: Path, does: Callable[[Part], object], **settings: Any) -> list[Values]:
    """What was written, without numbers of definitions; twice in one step, as what is known is taken otherwise than what is new."""

    def twice(part: Part) -> None:
        does(part)
        does(part)

    model = Model(twice)
    with tensortap.tap(model, run="taken", spool=folder, **settings) as tap:
        for _ in range(3):
            model(torch.ones(1))
            tap.step()
    steps = reading.only(folder).steps
    assert all(step.ended is not None for step in steps)
    return [(step.number, v.op, v.role, v.path, sorted(v.layout.items(), key=str), v.seq, v.flags, repr(v.row[2:]), repr(v.more)) for step in steps for v in step.values]


@pytest.mark.parametrize("does", CASES)
@pytest.mark.parametrize("settings", [{"level": "L0"}, {"level": "mix", "sketch": True, "digest": True}, {"level": "L0", "backward": "full"}], ids=str)
def test_rows_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: Callable[[Part], object], settings: dict[str, Any]) -> None:
    taken = _values(tmp_path / "taken", does, **settings)
    monkeypatch.setattr(taker, "of_torch", lambda facts: None)  # as of a PyTorch that the kernel does not know
    left = _values(tmp_path / "left", does, **settings)
    for one, other in zip(taken, left, strict=True):
        assert one == other


@pytest.mark.parametrize("does", [_views, _others, _not_finite])
def test_rows_are_the_same_under_inference_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: Callable[[Part], object]) -> None:
    with torch.inference_mode():
        taken = _values(tmp_path / "taken", does, level="L0")
        monkeypatch.setattr(taker, "of_torch", lambda facts: None)
        assert taken == _values(tmp_path / "left", does, level="L0")


def test_this_pytorch_is_known() -> None:
    assert torch_tensors.of_torch(TAKES.takes.facts) is not None


def test_another_pytorch_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_tensors, "_OF_CORE", ("_ZNK3c1010TensorImpl13requires_gradEv", "_ZNK3c1010TensorImpl11has_storageEv"))
    assert torch_tensors.of_torch(TAKES.takes.facts) is None
    monkeypatch.setattr(torch_tensors, "_OF_CORE", ("no_such_function",))
    assert torch_tensors.of_torch(TAKES.takes.facts) is None


def test_more_rows_than_a_segment(tmp_path: Path) -> None:
    with_many = tuple(torch.full((2,), float(number)) for number in range(50))
    values = _values(tmp_path, lambda part: [part(*with_many) for _ in range(100)], level="L0")
    given = [value for value in values if value[2] == "input" and value[1].startswith("Module.part")]
    assert len(given) == 3 * 2 * 100 * 50
    assert len(list((tmp_path).glob("*/rows-*"))) > 1


def test_what_is_no_call_is_an_error_and_no_crash() -> None:
    functions = TAKES.takes
    for function in (functions.one, functions.values, functions.opens, functions.closes, functions.learn, functions.forget, functions.facts):
        with pytest.raises(TypeError):
            function()
    own = taker.Taker(functions, Cursor().address)
    with pytest.raises(SystemError):
        own.values([], (), 0, 0)  # type: ignore[arg-type]
    with pytest.raises((TypeError, OverflowError)):
        own.one(None, -1, 0)
    assert own.one(object(), 1, 1) == 0 and own.values((), [], 0, 0) == 0


def test_nothing_is_taken_without_a_segment_or_a_layout() -> None:
    cursor = Cursor()
    own = taker.Taker(TAKES.takes, cursor.address)
    memory = ctypes.create_string_buffer(8 * layout.RECORD_BYTES)
    assert own.one(torch.ones(2), 1, 1) == 0
    cursor.turn(ctypes.addressof(memory), len(memory), 0)
    assert own.one(torch.ones(2), 1, 1) == 0 and own.one(None, 1, 1) == 0 and not any(memory.raw)
    own.literal(taker.NONE, 5)
    assert own.one(None, 1, 1) == 1 and any(memory.raw)
