"""Turns tensors into records of the spool: statistics and, where asked for, sketch and digest."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import partial
from contextlib import nullcontext
from typing import Any, Final

import torch
from torch import Tensor

from tensortap import _torch_compat
from tensortap._spool import layout, records
from tensortap._spool.records import Name
from tensortap._spool.writers import BY_PYTHON, Writers
from tensortap._stats import digest, fallback, kernel, sketch
from tensortap._stats.deferred import Deferred
from tensortap._stats.strides import Reading, Readings

MAX_ROWS: Final = 5
_QUICK_ELEMENTS: Final = 1 << 14  # fewer are measured sooner than another thread could get Python's lock
_PLAIN: Final = frozenset({Tensor, torch.nn.Parameter})


class Plan:
    """How the kernel reads CPU tensors of one layout. To be run by one thread at a time.

    `run`, given where the elements begin, the address of the records, site, seq and place, does as `Measurer.measure` for a
    tensor that is neither conjugated nor negated lazily. Plans of equal `elements` read the same from there, as long as both live.
    """

    __slots__ = ("_call", "_reading", "call", "elements", "run")

    def __init__(self, function: kernel.Measure, reading: Reading, layout: int, flags: int, options: int) -> None:
        self._reading = reading  # kept for the view in it
        self.elements = (reading.elements, reading.address, options)
        self._call = ctypes.create_string_buffer(kernel.CALL.size)
        kernel.CALL.pack_into(self._call, 0, 0, 0, 0, 0, 0, layout, reading.elements, reading.address, flags, options)
        self.call = ctypes.addressof(self._call)
        self.run: Callable[[int, int, int, int, int], int] = partial(function, self.call)


class Measurer:
    """Measures tensors, one at a time, on the device where they lie."""

    def __init__(
        self,
        threads: int,
        sketch: bool,
        digest: bool,
        *,
        crc32: bool = False,
        library: kernel.Kernel | None = None,
        by_torch: bool = False,
    ) -> None:
        """With `crc32` the digest is msProbe's. `by_torch` does without the C kernel, which is loaded when none is given."""
        self._sketch, self._digest, self._crc32 = sketch, digest and not crc32, crc32
        self._kernel = None if by_torch else library or kernel.load()
        self._deferred: Deferred | None = None
        self._told_late: dict[int, set[int]] | None = None
        self._triton = not crc32  # until it is found missing
        self._readings = Readings(ordered=sketch or digest or crc32)
        self._options: dict[torch.dtype, int] = {}
        if self._kernel is not None:
            wanted = sketch * kernel.WANT_SKETCH | self._digest * kernel.WANT_DIGEST | crc32 * kernel.WANT_CRC32
            threads = max(1, min(threads, torch.get_num_threads()))
            self._options = _options(self._kernel.dtypes, wanted | threads << kernel.THREADS_SHIFT)

    def measure(self, tensor: Tensor, address: int, name: Name) -> int:
        """Writes the tensor's records at the address, where MAX_ROWS zeroed ones lie. Returns how many it used.

        To be called where torch functions are not intercepted (_torch_compat.DisableTorchFunction).
        """
        try:
            if type(tensor) in _PLAIN and tensor.is_cpu and not tensor.is_neg():
                written = self._by_kernel(tensor, address, name)
                if written:
                    return written
        except RuntimeError:  # from torch, for a tensor without storage; vmap's have one behind
            pass
        return self._otherwise(tensor, address, name)

    def plan(self, tensor: Tensor, layout: int, flags: int = 0) -> Plan | None:
        """How to measure CPU tensors of this dtype, shape and strides by the kernel alone; None when it takes `measure`."""
        options = self._options.get(tensor.dtype)
        if options is None or self._kernel is None:
            return None
        reading = Reading(tensor.numel(), 0, None) if tensor.is_contiguous() else self._readings.of(tensor.shape, tensor.stride())
        if reading is None:
            return None
        function = self._kernel.quick if reading.elements < _QUICK_ELEMENTS else self._kernel.measure
        return Plan(function, reading, layout, flags, options)

    @property
    def takes(self) -> kernel.Takes | None:
        """What takes values of calls without Python."""
        return None if self._kernel is None else self._kernel.takes

    @property
    def writers(self) -> Writers:
        """What writes other records as fast as can be."""
        return BY_PYTHON if self._kernel is None else self._kernel.writers

    def send(self) -> None:
        """What is pending on a device begins to come to the host; for the end of a step. Then as `poll`."""
        if self._deferred is not None:
            with _torch_compat.DisableTorchDispatch():
                try:
                    self._deferred.send()
                finally:
                    self._deferred.poll()

    def poll(self) -> None:
        """Writes the records of what has come. Raises RuntimeError where a device failed; its records say so, others are whole."""
        if self._deferred is not None:
            self._deferred.poll()

    def flush(self) -> None:
        """Completes what is pending, and waits for that. Raises as `poll`."""
        if self._deferred is not None:
            with _torch_compat.DisableTorchDispatch():
                self._deferred.flush()

    def then(self, action: Callable[[], None]) -> None:
        """Does that when the records are written of all that was sent so far."""
        if self._deferred is None:
            action()
        else:
            self._deferred.then(action)

    def forget(self) -> None:
        """What is pending is another process's."""
        if self._deferred is not None:
            self._deferred.forget()

    @property
    def is_waiting(self) -> bool:
        """Whether something is on its way from a device."""
        return self._deferred is not None and self._deferred.is_waiting

    @property
    def is_late(self) -> bool:
        """Whether numbers of some tensors come after their ops."""
        return self._deferred is not None

    def tell_late(self, sites: dict[int, set[int]]) -> None:
        """Put into that, by seq, the sites at which a NaN or +Inf was in what has come from a device."""
        self._told_late = sites
        if self._deferred is not None:
            self._deferred.tell(sites)

    @property
    def overflowed(self) -> AbstractSet[int]:
        """The sites at which a NaN or +Inf was in what has come from a device."""
        return frozenset() if self._deferred is None else self._deferred.overflowed

    def _by_kernel(self, tensor: Tensor, address: int, name: Name) -> int:
        """0 when the kernel cannot read it."""
        plan = self.plan(tensor, name.layout, name.flags)
        if plan is None or (tensor.is_complex() and tensor.is_conj()):
            return 0
        data = tensor.data_ptr()
        if not data and tensor.numel():
            return 0
        return plan.run(data, address, name.site, name.seq, name.place)

    def _otherwise(self, tensor: Tensor, address: int, name: Name) -> int:
        try:
            found = plain(tensor)
            if found is None:
                return records.unsupported(address, name)
            with _torch_compat.DisableTorchDispatch():  # a mode of the program's own counts its own ops
                return self._plain(found, address, name)
        except RuntimeError:  # from torch: what cannot be read is said to be so
            return records.unsupported(address, name)

    def _plain(self, found: Tensor, address: int, name: Name) -> int:
        if found.is_cpu:
            written = self._by_kernel(found, address, name) or self._by_kernel(found.contiguous(), address, name)
            if written:
                return written
        deferred = self._on_device() if found.is_cuda else None
        if deferred is not None:
            return deferred.add(found, address, name)
        return self._by_torch(found, address, name)

    def _on_device(self) -> Deferred | None:
        """Measures CUDA tensors without waiting for them; None without Triton, or where msProbe's digest is wanted."""
        if self._triton and self._deferred is None:
            try:
                self._deferred = Deferred(self._sketch, self._digest, self._kernel)
                if self._told_late is not None:
                    self._deferred.tell(self._told_late)
            except ImportError:
                self._triton = False
        return self._deferred

    def _by_torch(self, tensor: Tensor, address: int, name: Name) -> int:
        found = fallback.statistics(tensor)
        sums = sketch.sketch(fallback.numbers(tensor)).tolist() if self._sketch else None
        hashed: tuple[int, int] | None = None
        if self._crc32:
            hashed = _crc32(tensor), layout.DIGEST_CRC32
        elif self._digest:
            hashed = digest.digest(tensor), layout.DIGEST_TAP
        return records.measured(address, name, found, sums, hashed)


def _options(names: tuple[str, ...], common: int) -> dict[torch.dtype, int]:
    """The kernel's number of each dtype that this torch has, with what is common to all."""
    numbers = {getattr(torch, name): number for number, name in enumerate(names) if hasattr(torch, name)}
    return {dtype: number | common for dtype, number in numbers.items()}


def plain(tensor: Tensor) -> Tensor | None:
    """The strided tensor with storage that the tensor stands for: without vmap's wrapper, a shard's local part; None if none."""
    functorch: Any = _torch_compat.functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    tensor = getattr(tensor, "_local_tensor", tensor)
    if getattr(tensor, "fake_mode", None) is not None:
        return None
    if tensor.is_meta or tensor.is_nested or tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    if type(tensor) not in _PLAIN:
        of_torch = type(tensor).__module__.startswith("torch.")  # whose ways may wait for what it stands for; a program's own class hears nothing
        with nullcontext() if of_torch else _torch_compat.DisableTorchDispatch():
            tensor = tensor.detach().as_subclass(Tensor)
    with _torch_compat.DisableTorchDispatch():
        if tensor._is_zerotensor():
            return torch.zeros_like(tensor)
        if tensor.numel() and not tensor.data_ptr():
            return None
        return tensor.detach().resolve_conj().resolve_neg()


def _crc32(tensor: Tensor) -> int:
    content = digest.raw_bytes(tensor.cpu())
    return zlib.crc32((ctypes.c_ubyte * content.numel()).from_address(content.data_ptr())) if content.numel() else 0
