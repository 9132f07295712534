"""From a tensor to its row: its layout, its statistics, and the memory of tensors seen before in the step."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol
from weakref import ref

import torch
from torch import Tensor

from tensortap import _torch_compat
from tensortap._record import unseen
from tensortap._record.custom_ops import CustomOps
from tensortap._record.tensor_layouts import Layout, Layouts, is_wrapped
from tensortap._spool import layout, records
from tensortap._spool.records import Name
from tensortap._spool.spool import Spool
from tensortap._spool.written import Written, flags, overflowed
from tensortap._stats.measure import Measurer, Plan
from tensortap._stats.taker import Taker

# The tensor, its version, pointer and whether it requires a gradient, its layout, where its rows are, and how the kernel read it.
_Seen = tuple[ref[Tensor], int, int, bool, int, Written, Plan | None]


class Sees(Protocol):
    """What is shown each tensor of an op."""

    def tensor(self, tensor: Tensor, site: int, seq: int) -> None:
        """A plain tensor."""

    def unusual(self, tensor: Tensor, site: int, seq: int) -> None:
        """One of a subclass, wrapped by vmap, sparse and so on."""

    def take(self, values: tuple[object, ...], sites: list[int], first: int, seq: int) -> int:
        """Values from the first on with their sites. The first that is left to be shown by itself."""
        ...


class Observer:
    """Writes rows of tensors. To be called under the session's lock, where torch functions are not intercepted."""

    def __init__(self, spool: Spool, measurer: Measurer, counts: unseen.Unseen, first_n: int | None) -> None:
        self._spool, self._measurer, self._unseen = spool, measurer, counts
        self._layouts = Layouts(spool, measurer)
        self.taker = Taker(measurer.takes, spool.cursor.address)
        self._seen: dict[int, _Seen] = {}
        self._read: dict[int, _Seen] = {}  # the last of each pointer
        self._first_n = first_n
        self.overflowed = False  # a value was met that is not finite
        # Not at these sites: a mask, or memory that nobody wrote yet, does not leave the module that it is in.
        self.passed_over: AbstractSet[int] = frozenset()
        self._padding: tuple[int, int] | None = None
        self._taken: dict[int, int] = {}
        self._devices_write = False
        self._unwatched: CustomOps | None = None
        self.forgotten = 0  # how often
        self._not_finite: dict[int, set[int]] | None = None  # sites by seq, where somebody asked for them
        self._hold()

    @property
    def padding(self) -> tuple[int, int] | None:
        """Tensors of so many rows hold so many of tokens, in this step."""
        return self._padding

    @padding.setter
    def padding(self, padding: tuple[int, int] | None) -> None:
        self._padding = padding
        self._hold()

    def _hold(self) -> None:
        self.taker.hold(self._padding is not None or self._devices_write or self._first_n is not None)

    def watch_values(self) -> dict[int, set[int]]:
        """By seq, the sites where a NaN or +Inf is, from here on; whoever asks takes them out."""
        self._not_finite = {}
        self._measurer.tell_late(self._not_finite)
        self.taker.tell(True)
        return self._not_finite

    def forget(self) -> None:
        """Read every tensor anew from here on: at each step, and after code that may write without a trace."""
        self._seen.clear()
        self._read.clear()
        self.forgotten += 1
        self.taker.forget()
        if self._devices_write is not (writes := torch.cuda.is_initialized()):
            self._devices_write = writes
            self._hold()

    def trusts_versions(self) -> bool:
        """Whether a tensor of the same version, since the last forget, has the same content."""
        return self._unwatched is None or not self._unwatched.may_run()

    def watch_custom_ops(self, are_heard: bool) -> None:
        """Whether something calls forget where an op of others has run; else tensors are read again wherever one may have."""
        self._unwatched = None if are_heard else CustomOps()
        self.taker.ask(self.trusts_versions if self._unwatched else None)

    def measure_with(self, measurer: Measurer) -> None:
        """Measure with another from here on."""
        self._measurer = measurer
        self._layouts.measure_with(measurer)
        self.taker.forget_layouts()
        if self._not_finite is not None:
            measurer.tell_late(self._not_finite)

    def take(self, values: tuple[object, ...], sites: list[int], first: int, seq: int) -> int:
        """Write the rows of values from the first on, up to one that takes longer; its place, or how many there are."""
        return self.go_on(values, sites, self.taker.values(values, sites, first, seq), seq)

    def go_on(self, values: tuple[object, ...], sites: list[int], done: int, seq: int) -> int:
        """Likewise, where so many are done; negative where the last of them is not finite."""
        while done < 0:
            self._not_finite_at(sites[~done], seq)
            done = self.taker.values(values, sites, -done, seq)
        return done

    def tensor(self, tensor: Tensor, site: int, seq: int) -> None:
        """Write the row of a plain tensor."""
        if not (self._takes(tensor, site, seq) or (self._spool.renews() and self._takes(tensor, site, seq))):
            self._write(self.without_padding(tensor), site, seq)

    def _takes(self, tensor: Tensor, site: int, seq: int) -> bool:
        taken = self.taker.one(tensor, site, seq)
        if taken < 0:
            self._not_finite_at(site, seq)
        return taken != 0

    def _write(self, tensor: Tensor, site: int, seq: int) -> None:
        if self._is_written_again(tensor, site, seq):
            return
        try:
            pointer = tensor.data_ptr()
            if not pointer and is_wrapped(tensor):
                self.unusual(tensor, site, seq)
                return
            known = self._layouts.of(tensor)
        except RuntimeError:  # what has no storage or no strides: sparse, nested, wrapped
            self.unusual(tensor, site, seq)
            return
        if self._first_n is not None and not self._wants_more(site):
            return
        plan = known.plan
        if plan is None or not pointer or not site or self._devices_write or tensor.is_neg():
            self._measure(tensor, site, known, seq)
        elif not (self.taker.learn(tensor, plan) and self._takes(tensor, site, seq)):
            self._by_plan(tensor, pointer, plan, site, known.number, seq)

    def _is_written_again(self, tensor: Tensor, site: int, seq: int) -> bool:
        seen = self._seen.get(id(tensor))
        if seen is None or self._first_n is not None:
            return False
        same, version, pointer, requires_grad, number, written, _ = seen
        if same() is not tensor or version != tensor._version or pointer != tensor.data_ptr() or requires_grad is not tensor.requires_grad:
            return False
        if not self.trusts_versions():
            return False
        self._spool.again(written, site, number, seq)
        if written[2] > 1 and self._not_finite is not None:
            self._note(written, site, seq)
        return True

    def without_padding(self, tensor: Tensor) -> Tensor:
        """The tensor without rows that are no tokens in this step."""
        if self._padding is None or type(tensor) is not Tensor or not tensor.dim():
            return tensor
        rows, tokens = self._padding
        if tensor.shape[0] != rows:
            return tensor
        with _torch_compat.DisableTorchDispatch():
            return tensor[:tokens]

    def unusual(self, tensor: Tensor, site: int, seq: int) -> None:
        """Write the row of a tensor that is no plain one: of a subclass, wrapped by vmap, sparse and so on."""
        tensor, known = self._layouts.of_unusual(tensor)
        if self._first_n is None or self._wants_more(site):
            self._measure(tensor, site, known, seq, remember=False)

    def layout(self, tensor: Tensor) -> tuple[int, Plan | None]:
        """The id of a tensor's layout, 0 when it cannot be written, and how the kernel reads it where it does."""
        try:
            pointer = tensor.data_ptr()
            if pointer or not is_wrapped(tensor):
                known = self._layouts.of(tensor)
                return known.number, None if not pointer or self._devices_write or tensor.is_neg() else known.plan
        except RuntimeError:  # as above
            pass
        return self._layouts.of_unusual(tensor)[1].number, None

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
        """Whether the tensor is what was read at its pointer, a view of that, or what that is a view of: such share one version."""
        same, version, _, _, _, _, other_plan = read
        if other_plan is None or other_plan.elements != plan.elements:
            return False
        other = same()
        if other is None or other._version != version or tensor._version != version or other.data_ptr() != pointer:
            return False
        base, others_base = tensor._base, other._base
        return (other is tensor or others_base is tensor if base is None else base is other or base is others_base) and self.trusts_versions()

    def _measure(self, tensor: Tensor, site: int, known: Layout, seq: int, remember: bool = True) -> None:
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
        if (not self.overflowed or self._not_finite is not None) and overflowed(written):
            self._not_finite_at(site, seq)

    def _not_finite_at(self, site: int, seq: int) -> None:
        self.overflowed = self.overflowed or site not in self.passed_over
        if self._not_finite is not None:
            self._not_finite.setdefault(seq, set()).add(site)
        elif self.overflowed:
            self.taker.tell(False)

    def _wants_more(self, site: int) -> bool:
        taken = self._taken.get(site, 0) + 1
        self._taken[site] = taken
        if taken <= (self._first_n or 0):
            return True
        self._unseen.count(unseen.SAMPLED)
        return False


def _is_in_flight(tensor: Tensor) -> bool:
    """Whether a device may be writing into host memory: it can where that is pinned, and has not done where its stream has work."""
    with _torch_compat.DisableTorchDispatch():
        if not tensor.is_cpu or not tensor.is_pinned():
            return False
    return torch.cuda.is_current_stream_capturing() or not torch.cuda.current_stream().query()  # a captured stream must not be asked
