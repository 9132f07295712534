"""Tensors that are not plain: wrapped, lazy, without storage; and processes that fork."""

from __future__ import annotations

import os
import threading

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from measuring import Reading, measure
from tensortap._spool import layout
from tensortap._stats.measure import Measurer

PLAIN = Measurer(2, False, False)


def unsupported() -> dict[str, torch.Tensor]:
    with FakeTensorMode():
        fake = torch.randn(3)
    dense = torch.randn(4, 4)
    return {
        "meta": torch.empty(3, device="meta"),
        "fake": fake,
        "sparse": dense.to_sparse(),
        "sparse rows": dense.to_sparse_csr(),
        "mkldnn": dense.to_mkldnn(),
        "quantized": torch.quantize_per_tensor(dense, 0.1, 0, torch.qint8),
        "nested, jagged": torch.nested.nested_tensor([dense, dense[:2]], layout=torch.jagged),
    }


@pytest.mark.parametrize("kind", unsupported())
def test_what_cannot_be_read_is_said_to_be_so(kind: str) -> None:
    read = measure(PLAIN, unsupported()[kind])
    assert (read.flags, read.rows) == (layout.UNSUPPORTED, 1)


def test_lazily_conjugated_and_negated_tensors_are_resolved() -> None:
    tensor = torch.randn(50, dtype=torch.complex64)
    negated = tensor.conj().imag
    assert negated.is_neg()
    assert measure(PLAIN, negated) == measure(PLAIN, negated.resolve_neg().clone())
    full = Measurer(1, True, True)
    assert measure(full, tensor.conj()) == measure(full, tensor.conj().resolve_conj().clone())


def test_a_zero_tensor_is_zeros() -> None:
    assert measure(PLAIN, torch._efficientzerotensor(5)) == measure(PLAIN, torch.zeros(5))


def test_vmap_shows_the_tensor_behind() -> None:
    tensor, seen = torch.randn(4, 6), []

    def inside(row: torch.Tensor) -> torch.Tensor:
        seen.append(measure(PLAIN, row))
        return row * 2

    torch.vmap(inside)(tensor)
    assert seen == [measure(PLAIN, tensor)]


def test_subclasses_and_parameters_are_read() -> None:
    class Marked(torch.Tensor):
        pass

    tensor = torch.randn(40)
    expected = measure(PLAIN, tensor)
    assert measure(PLAIN, tensor.as_subclass(Marked)) == expected
    assert measure(PLAIN, torch.nn.Parameter(tensor)) == expected
    with torch.inference_mode():
        assert measure(PLAIN, tensor + 0) == expected


def test_seventeen_dimensions_are_copied() -> None:
    tensor = torch.randn(2**17).view([2] * 17).permute(*range(16, -1, -1))[::1, ...]
    full = Measurer(1, True, True)
    assert measure(full, tensor) == measure(full, tensor.contiguous())


def test_flushed_subnormals_are_still_counted() -> None:
    tensor = torch.tensor([1e-42, 0.0, 1.0, -1e-40] * 10)
    torch.set_flush_denormal(True)
    try:
        read = measure(PLAIN, tensor)
    finally:
        torch.set_flush_denormal(False)
    assert (read.zero, read.unusual) == (10, (0, 0, 0, 20))


def test_a_forked_child_measures_alone() -> None:
    tensor = torch.randn(500_000)
    expected = measure(Measurer(2, False, False), tensor)
    child = os.fork()
    if child == 0:
        os._exit(0 if measure(PLAIN, tensor) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_of_several_sessions_agree() -> None:
    tensor = torch.randn(300_000)
    expected = measure(PLAIN, tensor)
    found: list[Reading] = []
    measurers = [Measurer(4, False, False) for _ in range(4)]
    threads = [threading.Thread(target=lambda m=m: found.extend(measure(m, tensor) for _ in range(20))) for m in measurers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 80
