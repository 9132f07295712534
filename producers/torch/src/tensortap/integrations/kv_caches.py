"""How much of an engine's KV cache is in use, by what it keeps on the host: no device is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tensortap._health.memory import Component
from tensortap._health.storages import Storages
from tensortap._session.notices import Notices

_SGLANG: Final = "token pool: slots that are not free, of requests and of prefixes that are kept"
_VLLM: Final = "block tables: blocks of the requests in the batch, each once"
_VLLM_SECOND: Final = "block tables: blocks of the requests that have begun, each as often as it is shared"
_UNKNOWN: Final = "_tensortap_kv_is_unknown"
_notices: Final = Notices()

Read = Callable[[Any], Iterable[Component]]


def reader(runner: Any, read: Read) -> Callable[[], Iterable[Component]]:
    """What reads a runner's cache, until it cannot: other releases of an engine may have anything in these places."""

    def guarded() -> Iterable[Component]:
        if getattr(runner, _UNKNOWN, False):
            return ()
        try:
            return list(read(runner))
        except Exception as error:  # as in Guard
            setattr(runner, _UNKNOWN, True)
            _notices.say(f"the use of the KV cache is not known: {type(error).__name__}: {error}")
            return ()

    return guarded


def of_sglang(runner: Any) -> Iterator[Component]:
    """By the pool of a ModelRunner, which has two parts where some layers look at a window only."""
    allocator = getattr(runner, "token_to_kv_pool_allocator", None)
    if allocator is None:
        return
    cache = allocator.get_kvcache()
    if hasattr(cache, "swa_kv_pool"):
        full = allocator.size_full, allocator.full_available_size(), cache.full_kv_pool
        parts = [full, (allocator.size_swa, allocator.swa_available_size(), cache.swa_kv_pool)]
    else:
        parts = [(allocator.size, allocator.available_size(), cache)]
    sizes = [(_bytes(pool), slots, free) for slots, free, pool in parts]
    used = sum(held * (slots - free) // slots for held, slots, free in sizes if slots)
    yield _kv(_SGLANG, str(next(runner.model.parameters()).device), used, sum(held for held, _, _ in sizes))


def of_vllm(runner: Any) -> Iterator[Component]:
    """By the block tables of a runner, of which there are two kinds. Block 0 stands for none."""
    config, caches = getattr(runner, "kv_cache_config", None), getattr(runner, "kv_caches", None)
    if config is None or not caches:
        return
    tables = getattr(getattr(runner, "input_batch", None), "block_table", None)
    if tables is not None:
        basis, used = _VLLM, _distinct(tables.block_tables, int(runner.input_batch.num_reqs))
    else:
        basis, used = _VLLM_SECOND, _counted(runner.block_tables.num_blocks.np, runner.req_states.req_id_to_index.values())
    for device, capacity in Storages().new_bytes(iter(caches)).items():
        yield _kv(basis, device, capacity * min(used, config.num_blocks) // config.num_blocks, capacity)


def _kv(basis: str, device: str, used: int, capacity: int) -> Component:
    return Component(name="kv", basis=basis, device=device, allocated_bytes=used, reserved_bytes=capacity)


def _bytes(pool: Any) -> int:
    """Of keys and values, or of what stands for both."""
    size = pool.get_kv_size_bytes()
    return int(sum(size) if isinstance(size, tuple) else size)


def _distinct(tables: Iterable[Any], requests: int) -> int:
    """The groups of layers share the blocks, and requests those of a prefix."""
    held: set[int] = set()
    for table in tables:
        split = getattr(table, "blocks_per_kv_block", 1)
        for row in range(requests):
            held.update(block // split for block in table.block_table.np[row, : table.num_blocks_per_row[row]].tolist())
    held.discard(0)
    return len(held)


def _counted(blocks: Any, rows: Iterable[int]) -> int:
    return sum(int(blocks[:, row].sum()) for row in list(rows))
