"""What is read of an engine's KV cache, by objects with the attributes that the contracts of engines name (test_contracts.py)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from tensortap._health.memory import Component
from tensortap.integrations import kv_caches


def _pool(size: Any) -> SimpleNamespace:
    return SimpleNamespace(get_kv_size_bytes=lambda: size)


def _sglang(**allocator: Any) -> SimpleNamespace:
    return SimpleNamespace(model=nn.Linear(2, 2), token_to_kv_pool_allocator=SimpleNamespace(**allocator))


def _in_use(found: list[Component]) -> list[tuple[str, str, int | None, int | None]]:
    return [(one.name, one.device, one.allocated_bytes, one.reserved_bytes) for one in found]


@pytest.mark.parametrize("size", [(600, 400), 1000])
def test_sglang_has_slots_that_are_free(size: Any) -> None:
    runner = _sglang(size=100, available_size=lambda: 75, get_kvcache=lambda: _pool(size))
    assert _in_use(list(kv_caches.of_sglang(runner))) == [("kv", "cpu", 250, 1000)]


def test_sglang_has_two_pools_where_some_layers_look_at_a_window() -> None:
    cache = SimpleNamespace(full_kv_pool=_pool((500, 500)), swa_kv_pool=_pool((50, 50)))
    sizes = {"size_full": 100, "size_swa": 10, "full_available_size": lambda: 90, "swa_available_size": lambda: 5}
    assert _in_use(list(kv_caches.of_sglang(_sglang(get_kvcache=lambda: cache, **sizes)))) == [("kv", "cpu", 100 + 50, 1100)]


def _vllm(**more: Any) -> SimpleNamespace:
    whole = torch.zeros(10, 25)  # 1000 bytes, of which two layers have a half each
    return SimpleNamespace(kv_caches=[whole[:5], whole[5:]], kv_cache_config=SimpleNamespace(num_blocks=10), **more)


def _table(rows: list[list[int]], **more: int) -> SimpleNamespace:
    ids = torch.zeros(8, 8, dtype=torch.int32)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
    return SimpleNamespace(block_table=SimpleNamespace(np=ids.numpy()), num_blocks_per_row=[*map(len, rows), 0, 0], **more)


def test_vllm_counts_a_block_that_requests_share_once_and_none_of_those_that_have_gone() -> None:
    tables = SimpleNamespace(block_tables=[_table([[1, 2], [1, 3], [9]]), _table([[4], [0, 5], [8]])])
    runner = _vllm(input_batch=SimpleNamespace(block_table=tables, num_reqs=2))
    assert _in_use(list(kv_caches.of_vllm(runner))) == [("kv", "cpu", 500, 1000)]


def test_vllm_counts_its_own_blocks_where_kernels_take_smaller_ones() -> None:
    tables = SimpleNamespace(block_tables=[_table([[2, 3, 4, 5]], blocks_per_kv_block=2)])
    runner = _vllm(input_batch=SimpleNamespace(block_table=tables, num_reqs=1))
    assert _in_use(list(kv_caches.of_vllm(runner))) == [("kv", "cpu", 200, 1000)]


def test_the_second_runner_of_vllm_knows_how_many_blocks_each_request_has() -> None:
    blocks = SimpleNamespace(num_blocks=SimpleNamespace(np=torch.tensor([[2, 7, 3]]).numpy()))
    runner = _vllm(block_tables=blocks, req_states=SimpleNamespace(req_id_to_index={"a": 0, "b": 2}))
    (found,) = kv_caches.of_vllm(runner)
    assert _in_use([found]) == [("kv", "cpu", 500, 1000)]
    assert "as often as it is shared" in found.basis


def test_a_runner_without_a_cache_has_none() -> None:
    assert list(kv_caches.of_vllm(SimpleNamespace())) == list(kv_caches.of_sglang(SimpleNamespace())) == []


def test_what_cannot_be_read_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    runner = _sglang(get_kvcache=lambda: SimpleNamespace())
    read = kv_caches.reader(runner, kv_caches.of_sglang)
    assert list(read()) == list(read()) == list(kv_caches.reader(runner, kv_caches.of_sglang)()) == []
    assert capsys.readouterr().err.count("the use of the KV cache is not known: AttributeError: ") == 1
