"""The CUDA kernels, run by Triton's interpreter on the CPU: what they compute, though not how fast."""

from __future__ import annotations

import ctypes

import pytest
import torch

pytest.importorskip("triton", reason="no Triton here")

import interpreting
from measuring import PLACE, Reading, measure, read
from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._stats import kernel
from tensortap._stats.measure import MAX_ROWS, Measurer

TENSORS = {
    "many": torch.randn(70_001) + 3,
    "one": torch.tensor([2.5]),
    "none": torch.empty(0),
    "bfloat16": torch.randn(5003).bfloat16(),
    "float16": torch.randn(5003).half(),
    "float64": torch.randn(5003, dtype=torch.float64) * 1e200,
    "whole": torch.randint(-9, 9, (5003,)),
    "bool": torch.randn(5003) > 0,
    "float8": torch.randn(5003).to(torch.float8_e4m3fn),
    "float8 of two exponents": torch.randn(2100).mul(100).to(torch.float8_e5m2),
    "every float8": torch.arange(256, dtype=torch.uint8).view(torch.float8_e5m2),
    "uint16": torch.arange(2100).mul(13).to(torch.uint16),
    "uint32": torch.arange(2100).mul(850_000).to(torch.uint32),
    "uint64": torch.tensor([0, 1, -1, -(2**63), 2**53 + 1]).view(torch.uint64),
    "complex": torch.randn(300, dtype=torch.complex64),
    "many complex": torch.randn(2100, dtype=torch.complex64),
    "complex32": torch.randn(2100, dtype=torch.complex64).to(torch.complex32),
    "complex128": torch.randn(2100, dtype=torch.complex128),
    "strange complex": torch.tensor([complex(1, float("nan")), complex(float("inf"), 1), complex(float("-inf"), float("nan")), 0j, 1e-42j]),
    "strange": torch.tensor([1.0, float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-42] * 300),
    "nothing finite": torch.full((40,), float("nan")),
    "transposed": torch.randn(50, 60).t(),
    "expanded": torch.randn(50, 1).expand(50, 30),
    "misaligned": torch.randn(5003).bfloat16()[1:],
    "whole pages": torch.randn(2048),
    "huge mean": torch.randn(30_000) + 1e6,
}


_ROUNDING = {"complex128": 1e-15}  # magnitudes in double precision are rounded otherwise


def test_all_in_an_interpreter() -> None:
    interpreting.run_all(__file__)


def deferred(tensors: list[torch.Tensor], sketched: bool, digested: bool) -> list[Reading]:
    """All tensors of a step, then their records."""
    from tensortap._stats.deferred import Deferred

    waiting = Deferred(sketched, digested, kernel.load())
    memories = [ctypes.create_string_buffer((MAX_ROWS + 1) * layout.RECORD_BYTES) for _ in tensors]
    rows = [
        waiting.add(tensor, ctypes.addressof(memory), Name(7, 8, 9, 0, PLACE))
        for tensor, memory in zip(tensors, memories, strict=True)
    ]
    assert not any(any(memory.raw) for memory in memories)
    waiting.flush()
    return [read(memory.raw, count) for memory, count in zip(memories, rows, strict=True)]


@pytest.mark.parametrize("wanted", [(False, False), (True, True)], ids=["statistics", "all"])
def test_rows_of_a_step_are_the_kernels(interpreted: None, wanted: tuple[bool, bool]) -> None:
    expected = [measure(Measurer(1, *wanted, by_torch=True), tensor) for tensor in TENSORS.values()]
    for name, found, wished in zip(TENSORS, deferred(list(TENSORS.values()), *wanted), expected, strict=True):
        assert (found.flags, found.zero, found.unusual) == (wished.flags, wished.zero, wished.unusual), name
        assert found.exact == pytest.approx(wished.exact, rel=_ROUNDING.get(name, 0.0), abs=0.0), name
        assert found.digest == wished.digest, name
        assert [found.mean, found.m2, found.l1] == pytest.approx([wished.mean, wished.m2, wished.l1], rel=1e-9, abs=1e-12), name
        assert found.sketch == (wished.sketch and pytest.approx(wished.sketch, rel=1e-5, abs=1e-5)), name


def test_a_tensor_costs_one_launch_and_no_copy(interpreted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensortap._stats import triton_measure
    from tensortap._stats.deferred import Deferred

    launched: list[int] = []
    whole = triton_measure._measure

    class Counting:
        def __getitem__(self, grid: tuple[int]) -> object:
            def launch(data: torch.Tensor, *rest: object, **constants: object) -> None:
                launched.append(data.data_ptr())
                whole[grid](data, *rest, **constants)

            return launch

    monkeypatch.setattr(triton_measure, "_measure", Counting())
    waiting, memory = Deferred(True, False), ctypes.create_string_buffer(MAX_ROWS * layout.RECORD_BYTES)
    tensors = [tensor for tensor in TENSORS.values() if tensor.is_contiguous() and tensor.numel() < 10_000]
    for tensor in tensors:
        waiting.add(tensor, ctypes.addressof(memory), Name(7, 8, 9, 0, PLACE))
    waiting.flush()
    assert launched == [tensor.data_ptr() for tensor in tensors]


def test_a_step_may_begin_in_inference_mode_and_end_outside(interpreted: None) -> None:
    from tensortap._stats.deferred import Deferred

    waiting, memory = Deferred(True, True), ctypes.create_string_buffer(MAX_ROWS * layout.RECORD_BYTES)
    for value in (2.0, 3.0):
        with torch.inference_mode():
            rows = waiting.add(torch.full((5,), value), ctypes.addressof(memory), Name(7, 8, 9, 0, PLACE))
        waiting.flush()
        assert read(memory.raw, rows).mean == value


def test_a_failed_launch_shifts_no_other_row(interpreted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensortap._stats import triton_measure
    from tensortap._stats.deferred import Deferred

    waiting, memories = Deferred(False, False), [ctypes.create_string_buffer(MAX_ROWS * layout.RECORD_BYTES) for _ in range(3)]
    whole = triton_measure._measure
    for value, memory in enumerate(memories):
        with monkeypatch.context() as failing:
            if value == 1:
                failing.setattr(triton_measure, "_measure", None)
                with pytest.raises(TypeError):
                    waiting.add(torch.full((5,), 1.0), ctypes.addressof(memory), Name(7, 8, 9, 0, PLACE))
                continue
            assert triton_measure._measure is whole
            waiting.add(torch.full((5,), float(value)), ctypes.addressof(memory), Name(7, 8, 9, 0, PLACE))
    waiting.flush()
    assert [read(memories[at].raw, 2).mean for at in (0, 2)] == [0.0, 2.0]
    assert not any(memories[1].raw)
