"""From a tensor to its row: its layout, its statistics, and the memory of tensors seen before in the step."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol
from weakref import ref

import torch
from torch import Tensor

from tensortap import _torch_compat
from tensortap._record import unseen
from tensortap._record.custom_ops import CustomOps
from tensortap._spool import layout, records
from tensortap._spool.records import Name
from tensortap._spool.spool import Spool
from tensortap._spool.written import Written, flags, overflowed
from tensortap._stats.measure import Measurer, Plan

_MOST_LAYOUTS: Final = 1 << 16
_MOST_PLACEMENTS: Final = 1 << 10
_PLAIN: Final = (Tensor, torch.nn.Parameter)
_functorch: Final[Any] = _torch_compat.functorch
_is_wrapped: Final[Callable[[Tensor], bool]] = _functorch.is_functorch_wrapped_tensor


class _Layout(NamedTuple):
    number: int
    on_cpu: bool
    plan: Plan | None  # of plain tensors that the kernel reads where they are; complex ones may be conjugated lazily


# The tensor, its version, pointer and whether it requires a gradient, its layout, where its rows are, and how the kernel read it.
_Seen = tuple[ref[Tensor], int, int, bool, int, Written, Plan | None]


class Sees(Protocol):
    """What is shown each tensor of an op."""

    def tensor(self, tensor: Tensor, site: int, seq: int) -> None:
        """A plain tensor."""

    def unusual(self, tensor: Tensor, site: int, seq: int) -> None:
        """One of a subclass, wrapped by vmap, sparse and so on."""


class Observer:
    """Writes rows of tensors. To be called under the session's lock, where torch functions are not intercepted."""

    def __init__(self, spool: Spool, measurer: Measurer, counts: unseen.Unseen, first_n: int | None) -> None:
        self._spool, self._measurer, self._unseen = spool, measurer, counts
        self._layouts: dict[object, _Layout] = {}
        self._seen: dict[int, _Seen] = {}
        self._read: dict[int, _Seen] = {}  # the last of each pointer
        self._first_n = first_n
        self.overflowed = False  # a value was met that is not finite
        # Not at these sites: a mask, or memory that nobody wrote yet, does not leave the module that it is in.
        self.passed_over: AbstractSet[int] = frozenset()
        self.padding: tuple[int, int] | None = None  # tensors of so many rows hold so many of tokens, in this step
        self._taken: dict[int, int] = {}
        self._devices_write = False
        self._unwatched: CustomOps | None = None
        self.forgotten = 0  # how often
        self._not_finite: dict[int, set[int]] | None = None  # sites by seq, where somebody asked for them

    def watch_values(self) -> dict[int, set[int]]:
        """By seq, the sites where a NaN or +Inf is, from here on; whoever asks takes them out."""
        self._not_finite = {}
        self._measurer.tell_late(self._not_finite)
        return self._not_finite

    def forget(self) -> None:
        """Read every tensor anew from here on: at each step, and after code that may write without a trace."""
        self._seen.clear()
        self._read.clear()
        self.forgotten += 1
        self._devices_write = torch.cuda.is_initialized()

    def trusts_versions(self) -> bool:
        """Whether a tensor of the same version, since the last forget, has the same content."""
        return self._unwatched is None or not self._unwatched.may_run()

    def watch_custom_ops(self, are_heard: bool) -> None:
        """Whether something calls forget where an op of others has run; else tensors are read again wherever one may have."""
        self._unwatched = None if are_heard else CustomOps()

    def measure_with(self, measurer: Measurer) -> None:
        """Measure with another from here on."""
        self._measurer = measurer
        self._layouts.clear()
        if self._not_finite is not None:
            measurer.tell_late(self._not_finite)

    def tensor(self, tensor: Tensor, site: int, seq: int) -> None:
        """Write the row of a plain tensor."""
        if self.padding is not None:
            tensor = self.without_padding(tensor)
        seen = self._seen.get(id(tensor))
        if seen is not None and self._first_n is None:
            same, version, pointer, requires_grad, number, written, _ = seen
            if (
                same() is tensor
                and version == tensor._version
                and pointer == tensor.data_ptr()
                and requires_grad is tensor.requires_grad
                and self.trusts_versions()
            ):
                self._spool.again(written, site, number, seq)
                if written[2] > 1 and self._not_finite is not None:
                    self._note(written, site, seq)
                return
        try:
            pointer = tensor.data_ptr()
            if not pointer and _is_wrapped(tensor):
                self.unusual(tensor, site, seq)
                return
            known = self._layout(tensor)
        except RuntimeError:  # what has no storage or no strides: sparse, nested, wrapped
            self.unusual(tensor, site, seq)
            return
        if self._first_n is not None and not self._wants_more(site):
            return
        plan = known.plan
        if plan is None or not pointer or not site or self._devices_write or tensor.is_neg():
            self._measure(tensor, site, known, seq)
        else:
            self._by_plan(tensor, pointer, plan, site, known.number, seq)

    def without_padding(self, tensor: Tensor) -> Tensor:
        """The tensor without rows that are no tokens in this step."""
        if self.padding is None or type(tensor) is not Tensor or not tensor.dim():
            return tensor
        rows, tokens = self.padding
        if tensor.shape[0] != rows:
            return tensor
        with _torch_compat.DisableTorchDispatch():
            return tensor[:tokens]

    def unusual(self, tensor: Tensor, site: int, seq: int) -> None:
        """Write the row of a tensor that is no plain one: of a subclass, wrapped by vmap, sparse and so on."""
        tensor, known = self._unusual_layout(tensor)
        if self._first_n is None or self._wants_more(site):
            self._measure(tensor, site, known, seq, remember=False)

    def layout(self, tensor: Tensor) -> tuple[int, Plan | None]:
        """The id of a tensor's layout, 0 when it cannot be written, and how the kernel reads it where it does."""
        try:
            pointer = tensor.data_ptr()
            if pointer or not _is_wrapped(tensor):
                known = self._layout(tensor)
                return known.number, None if not pointer or self._devices_write or tensor.is_neg() else known.plan
        except RuntimeError:  # as above
            pass
        return self._unusual_layout(tensor)[1].number, None

    def _layout(self, tensor: Tensor) -> _Layout:
        key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.requires_grad, tensor.is_cpu or tensor.device)
        return self._layouts.get(key) or self._define(key, tensor)

    def _unusual_layout(self, tensor: Tensor) -> tuple[Tensor, _Layout]:
        """The tensor that is measured for one that is no plain one, and the layout of that one."""
        wrapped, kind = tensor, ""
        while _is_wrapped(tensor):
            kind = "BatchedTensor" if _functorch.is_batchedtensor(tensor) else "GradTrackingTensor"
            tensor = _functorch.get_unwrapped(tensor)
        placement = ""
        if not kind and type(tensor) not in _PLAIN:
            kind = type(tensor).__name__
            if kind == "DTensor":
                kind, placement = "torch.distributed.tensor.DTensor", _placement(tensor.device_mesh, tensor.placements)  # type: ignore[attr-defined]
                tensor = tensor._local_tensor  # type: ignore[attr-defined]
        key = (kind, placement, tensor.dtype, tuple(tensor.shape), tensor.layout, wrapped.requires_grad, tensor.device)
        known = self._layouts.get(key)
        if known is None:
            known = self._define(key, tensor, kind, placement, wrapped.requires_grad)
        return tensor, known

    def _by_plan(self, tensor: Tensor, pointer: int, plan: Plan, site: int, number: int, seq: int) -> None:
        """Measure a tensor as all of its layout."""
        is_tracked = not tensor.is_inference() and self._first_n is None
        written: Written | None
        if is_tracked and (read := self._read.get(pointer)) is not None and self._has_same_elements(tensor, pointer, plan, read):
            written = read[5]
            self._spool.again(written, site, number, seq)
        elif (written := self._spool.measured(plan.run, pointer, site, seq)) is None:
            return
        if written[2] > 1:
            self._note(written, site, seq)
        if is_tracked:
            seen = ref(tensor), tensor._version, pointer, tensor.requires_grad, number, written, plan
            self._seen[id(tensor)] = self._read[pointer] = seen

    def _has_same_elements(self, tensor: Tensor, pointer: int, plan: Plan, read: _Seen) -> bool:
        """Whether the tensor is a view of what was read at its pointer, or what that is a view of: such share one version."""
        same, version, _, _, _, _, other_plan = read
        if other_plan is None or other_plan.elements != plan.elements:
            return False
        other = same()
        if other is None or other._version != version or tensor._version != version or other.data_ptr() != pointer:
            return False
        base, others_base = tensor._base, other._base
        return (others_base is tensor if base is None else base is other or base is others_base) and self.trusts_versions()

    def _measure(self, tensor: Tensor, site: int, known: _Layout, seq: int, remember: bool = True) -> None:
        if tensor.is_cuda and torch.cuda.is_current_stream_capturing():  # a kernel of ours would run at each replay, too
            self._unseen.count(unseen.CUDA_GRAPH, "capture")
            return
        if self._spool.must_wait and not known.on_cpu:
            self._measurer.flush()
            self._spool.keep_what_matters()
        address = self._spool.reserve(known.on_cpu)
        if not address or not site or not known.number:
            self._spool.dropped += bool(address)
            return
        name = Name(site, known.number, seq, 0, self._spool.place)
        in_flight = self._devices_write and _is_in_flight(tensor)
        rows = records.unsupported(address, name) if in_flight else self._measurer.measure(tensor, address, name)
        written = self._spool.advance(rows)
        if written is None:
            return
        if rows > 1 and known.on_cpu:
            self._note(written, site, seq)
        if in_flight:
            self._unseen.count(unseen.IN_FLIGHT)
        elif flags(written) & layout.UNSUPPORTED:
            self._unseen.count(unseen.UNSUPPORTED_TENSOR, type(tensor).__name__)
        elif remember and known.on_cpu and not tensor.is_inference():
            self._seen[id(tensor)] = ref(tensor), tensor._version, tensor.data_ptr(), tensor.requires_grad, known.number, written, None

    def _note(self, written: Written, site: int, seq: int) -> None:
        """A tensor has rows enough to have a value that is not finite."""
        watched = self._not_finite
        if (self.overflowed and watched is None) or not overflowed(written):
            return
        self.overflowed = self.overflowed or site not in self.passed_over
        if watched is not None:
            watched.setdefault(seq, set()).add(site)

    def _wants_more(self, site: int) -> bool:
        taken = self._taken.get(site, 0) + 1
        self._taken[site] = taken
        if taken <= (self._first_n or 0):
            return True
        self._unseen.count(unseen.SAMPLED)
        return False

    def _define(
        self, key: object, tensor: Tensor, kind: str = "", placement: str = "", requires_grad: bool | None = None
    ) -> _Layout:
        number = self._spool.define(
            "layout",
            {
                "kind": "tensor",
                "dtype": str(tensor.dtype),
                "shape": [int(size) for size in tensor.shape],
                "stride_class": _stride_class(tensor),
                "device_kind": tensor.device.type,
                "requires_grad": tensor.requires_grad if requires_grad is None else requires_grad,
                "placement": placement,
                "literal": kind,
                "count": tensor.numel(),
            },
        )
        on_cpu = tensor.device.type == "cpu"
        plain = on_cpu and requires_grad is None and tensor.layout is torch.strided and not tensor.is_complex()
        known = _Layout(number, on_cpu, self._measurer.plan(tensor, number) if plain and number else None)
        if number:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            self._layouts[key] = known
        return known


def _is_in_flight(tensor: Tensor) -> bool:
    """Whether a device may be writing into host memory: it can where that is pinned, and has not done where its stream has work."""
    with _torch_compat.DisableTorchDispatch():
        if not tensor.is_cpu or not tensor.is_pinned():
            return False
    return torch.cuda.is_current_stream_capturing() or not torch.cuda.current_stream().query()  # a captured stream must not be asked


def _stride_class(tensor: Tensor) -> str:
    if tensor.layout is not torch.strided or tensor.is_nested:
        return str(tensor.layout).removeprefix("torch.")
    if tensor.is_contiguous():
        return "contiguous"
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    if any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)):
        return "expanded"
    return "strided"


@lru_cache(maxsize=_MOST_PLACEMENTS)
def _placement(mesh: Any, placements: tuple[Any, ...]) -> str:
    """The mesh and placements of a DTensor, as msProbe writes them; a mesh may be of thousands of ranks."""
    ranks = ",".join(str(rank) for rank in mesh.mesh.flatten().tolist())
    return f'{{"device_mesh":[{ranks}],"placements":[{",".join(map(_one_placement, placements))}]}}'


def _one_placement(placement: Any) -> str:
    if placement.is_shard():
        return f'{{"Shard":{{"dim":{placement.dim}}}}}'
    if placement.is_partial():
        return f'{{"Partial":{{"reduce_op":"{placement.reduce_op}"}}}}'
    return '{"Replicate":{}}'
