"""Where this process stands among the ranks of its run, without a collective call of ours."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import nn

AXES: Final = ("tp", "pp", "dp", "cp", "ep")
_RANK_VARIABLES: Final = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
_MESH_NAMES: Final[Mapping[str, str]] = {
    **{axis: axis for axis in AXES},
    "tensor": "tp",
    "model": "tp",
    "pipeline": "pp",
    "data": "dp",
    "fsdp": "dp",
    "shard": "dp",
    "dp_shard": "dp",
    "context": "cp",
    "expert": "ep",
}
_MEGATRON_NAMES: Final[Mapping[str, str]] = {
    "tp": "tensor_model_parallel",
    "pp": "pipeline_model_parallel",
    "dp": "data_parallel",
    "cp": "context_parallel",
    "ep": "expert_model_parallel",
}
_SGLANG_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "tp": ("tp_rank", "tp_size"),
    "pp": ("pp_rank", "pp_size"),
    "dp": ("dp_rank", "dp_size"),
    "cp": ("attn_cp_rank", "attn_cp_size"),
    "ep": ("moe_ep_rank", "moe_ep_size"),
}
_VLLM_NAMES: Final[Mapping[str, str]] = {
    "tp": "get_tp_group",
    "pp": "get_pp_group",
    "dp": "get_dp_group",
    "cp": "get_pcp_group",
    "ep": "get_ep_group",
}


LAUNCH: Final = os.environ.get("TENSORTAP_LAUNCH") or hashlib.blake2b(bytes(multiprocessing.current_process().authkey), digest_size=8).hexdigest()
"""The same in all processes that one launch began, or else in one process and those that fork or multiprocessing made of it, which have its key."""

_groups_of_parent: Final[list[bool]] = []  # as this process was forked, whether there were groups: none of them is its own
os.register_at_fork(after_in_child=lambda: _groups_of_parent.append(dist.is_available() and dist.is_initialized()))


def is_child() -> bool:
    """Whether a process of the program made this one by fork or multiprocessing, and it has joined no group: the place it finds is another's."""
    has_joined = dist.is_available() and dist.is_initialized() and not any(_groups_of_parent)
    return not has_joined and (bool(_groups_of_parent) or multiprocessing.parent_process() is not None)


def is_restart() -> bool:
    """Whether torchrun has started this rank again: it goes on in the place of the one before, however that ended."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") not in ("", "0")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A rank, how many there are (None: not known), and its coordinate and group size on each axis that is known."""

    rank: int = 0
    world_size: int | None = None
    distributed: bool = False
    coordinates: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def columns(self) -> dict[str, int]:
        """The coordinates as columns of the table rank; -1 where not known."""
        coordinates = {axis: self.coordinates.get(axis, (-1, -1)) for axis in AXES}
        return {
            **{axis: at for axis, (at, _) in coordinates.items()},
            **{f"{axis}_size": size for axis, (_, size) in coordinates.items()},
        }


def place(
    model: nn.Module | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    rank: int | None = None,
    world_size: int | None = None,
    replica: tuple[int, int] | None = None,
) -> Place:
    """Find this process's place: from torch.distributed once it is initialised, else from the launcher's variables.

    A rank that is given counts before both, and a replica before what an engine says of its axis dp.
    """
    found_rank, found_size, distributed = _rank(os.environ if environment is None else environment)
    if rank is not None:
        found_rank, found_size, distributed = rank, world_size or (found_size if distributed and replica is None else None), True
    found: dict[str, tuple[int, int]] = {} if replica is None else {"dp": replica}
    for source in (_of_megatron(), _of_sglang(), _of_vllm(model), _of_model(model)):
        for axis, coordinate in source:
            found.setdefault(axis, coordinate)
    return Place(rank=found_rank, world_size=found_size, distributed=distributed, coordinates=found)


def _rank(environment: Mapping[str, str]) -> tuple[int, int | None, bool]:
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size(), True
    for rank, size in _RANK_VARIABLES:
        if environment.get(rank, "").isdecimal():
            count = environment.get(size, "")
            return int(environment[rank]), int(count) if count.isdecimal() else None, True
    return 0, 1, False


def _of_megatron() -> Iterator[tuple[str, tuple[int, int]]]:
    state: Any = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.model_parallel_is_initialized():
        return
    for axis, name in _MEGATRON_NAMES.items():
        rank = getattr(state, f"get_{name}_rank", None)
        size = getattr(state, f"get_{name}_world_size", None)
        if rank and size:
            yield axis, (int(rank()), int(size()))


def _of_sglang() -> Iterator[tuple[str, tuple[int, int]]]:
    context: Any = sys.modules.get("sglang.srt.runtime_context")
    if context and (size := _of_attention(context, "size")) > 1:
        yield "dp", (_of_attention(context, "rank"), size)
    for axis, names in _SGLANG_NAMES.items() if context else ():
        try:
            rank, size = (getattr(context.get_parallel(), name) for name in names)
        except (AttributeError, RuntimeError, ValueError):  # not set up, or not in this version
            continue
        if rank is not None and size is not None:
            yield axis, (int(rank), int(size))


def _of_attention(context: Any, what: str) -> int:
    """Replicas of attention alone share the rest of the model: SGLang's newer releases count none of them as dp."""
    try:
        return int(getattr(context.get_parallel(), f"attn_dp_{what}"))
    except (AttributeError, RuntimeError, TypeError, ValueError):  # not set up, or not in this version
        return 0


def _of_vllm(model: nn.Module | None) -> Iterator[tuple[str, tuple[int, int]]]:
    state: Any = sys.modules.get("vllm.distributed.parallel_state")
    for axis, name in _VLLM_NAMES.items() if state else ():
        if axis == "ep" and not _splits_experts(model):
            continue
        try:
            group = getattr(state, name)()
        except (AttributeError, AssertionError):  # not set up, or not in this version
            continue
        yield axis, (int(group.rank_in_group), int(group.world_size))


def _splits_experts(model: nn.Module | None) -> bool:
    """Whether ranks of vLLM hold different experts: it has the group even where each holds a part of all."""
    return any(getattr(getattr(module, "moe_config", None), "use_ep", False) for module in (() if model is None else model.modules()))


def _of_model(model: nn.Module | None) -> Iterator[tuple[str, tuple[int, int]]]:
    if model is None or not (dist.is_available() and dist.is_initialized()):
        return
    for module in model.modules():
        if isinstance(module, nn.parallel.DistributedDataParallel):
            yield "dp", (dist.get_rank(module.process_group), dist.get_world_size(module.process_group))
    yield from _of_meshes(model)


def _of_meshes(model: nn.Module) -> Iterator[tuple[str, tuple[int, int]]]:
    meshes: dict[int, Any] = {}
    for parameter in model.parameters():
        mesh = getattr(parameter, "device_mesh", None)
        if mesh is not None and isinstance(parameter, torch.Tensor):
            meshes[id(mesh)] = mesh
    for mesh in meshes.values():
        for dimension, name in enumerate(mesh.mesh_dim_names or ()):
            if name in _MESH_NAMES and mesh.get_coordinate() is not None:
                yield _MESH_NAMES[name], (mesh.get_local_rank(dimension), mesh.size(dimension))
