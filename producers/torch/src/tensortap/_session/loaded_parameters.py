"""A checksum of each parameter as a process begins its first step: two runs of one seed, or of one file of weights, begin alike or do not."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Final

import torch
from torch import Tensor, nn

from tensortap import _torch_compat
from tensortap._hooks.cuda_graphs import is_captured
from tensortap._record import unseen
from tensortap._record.guard import unintercepted
from tensortap._record.model_roots import Roots
from tensortap._record.model_wrappers import bare
from tensortap._spool import layout
from tensortap._spool.records import Name
from tensortap._stats import digest, kernel
from tensortap._stats.measure import MAX_ROWS, Measurer, plain

_MOST_NAMES: Final = 2048  # then those of one module have one checksum
# Bytes that are read of all that lies on one kind of device, by the kernels or by torch alone: within half a second.
_MOST_READ: Final[Mapping[str, int]] = {"cpu": 1 << 30, "cuda": 8 << 30}
_MOST_READ_SLOWLY: Final = 16 << 20
_MOST_COPIED: Final = 64 << 20  # bytes of a device's memory at a time
_FACTOR: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1


def checksums(roots: Roots, counts: unseen.Unseen) -> dict[str, str]:
    """Those of parameters, and of buffers that are saved with them, by name; with dtype and shape.

    Where there are more bytes than the limit, every second element along the longest dimension is read of each, or every fourth
    and so on. That depends on sizes alone, so that models of equal sizes are read alike.
    """
    if is_captured():
        return {}
    try:
        with unintercepted():
            return _rolled_up(_read({name: tensor for name, given in _named(roots) if (tensor := plain(given)) is not None}))
    except Exception as error:  # as in Guard: Triton's are of many kinds, and a run is recorded without checksums, too
        counts.count(unseen.HOOK_ERROR, f"checksums of parameters: {type(error).__name__}")
        return {}


def _named(roots: Roots) -> Iterator[tuple[str, Tensor]]:
    """Each once, though modules share it, under the name that it has first."""
    met: set[int] = set()
    parts = [(part.path, part.module) for part in roots.parts()]
    for path, module in [*parts, *(("", bare(root)) for root in roots)]:
        for name, tensor in _own(module):
            if id(tensor) not in met:
                met.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor


def _own(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in (*module._parameters.items(), *module._buffers.items()):
        if tensor is not None and not nn.parameter.is_lazy(tensor) and name not in module._non_persistent_buffers_set:
            yield name, tensor


def _read(found: Mapping[str, Tensor]) -> dict[str, str]:
    samples = _samples(found)
    on_devices = {name: sample for name, sample in samples.items() if sample.is_cuda}
    measurer = Measurer(1, False, True)
    digests = {name: digest for name, sample in samples.items() if name not in on_devices and (digest := _on_host(measurer, sample)) is not None}
    digests |= _on_devices(on_devices)
    return {name: f"{digests[name]:016x} {_described(tensor, samples[name])}" for name, tensor in found.items() if name in digests}


def _samples(found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is read of each, by how many bytes there are on its kind of device."""
    sizes: dict[str, int] = {}
    for tensor in found.values():
        kind = tensor.device.type
        sizes[kind] = sizes.get(kind, 0) + _bytes(tensor)
    apart = {kind: 1 << max(0, (size - 1) // _limit(kind)).bit_length() for kind, size in sizes.items()}
    return {name: _sample(tensor, apart[tensor.device.type]) for name, tensor in found.items()}


def _limit(kind: str) -> int:
    is_quick = kernel.load() is not None if kind == "cpu" else find_spec("triton") is not None
    return _MOST_READ.get(kind, _MOST_READ_SLOWLY) if is_quick else _MOST_READ_SLOWLY


def _sample(tensor: Tensor, apart: int) -> Tensor:
    """Every so many-th element along the longest dimension; on a device so few that a copy is small, where reading takes one."""
    longest = max(range(tensor.dim()), key=tensor.shape.__getitem__, default=0)
    while True:
        sample = tensor[(slice(None),) * longest + (slice(None, None, apart),)] if apart > 1 and tensor.dim() else tensor
        if sample.is_cpu or sample.is_contiguous() or _bytes(sample) <= _MOST_COPIED:
            return sample
        apart *= 2


def _on_host(measurer: Measurer, sample: Tensor) -> int | None:
    """As the rows of tensors have it; None where the elements cannot be read."""
    memory = ctypes.create_string_buffer(MAX_ROWS * layout.RECORD_BYTES)
    measurer.measure(sample, ctypes.addressof(memory), Name(0, 0, 0, 0, 0))
    for at in range(0, len(memory), layout.RECORD_BYTES):
        if memory.raw[at + layout.COMMIT_OFFSET] == layout.DIGEST_KIND:
            found: int = layout.DIGEST.unpack_from(memory, at)[0]
            return found
    return None


def _on_devices(samples: Mapping[str, Tensor]) -> dict[str, int]:
    """The same, with one wait for each device."""
    found: dict[str, int] = {}
    for device in {sample.device for sample in samples.values()}:
        with torch.cuda.device(device), _torch_compat.DisableTorchDispatch():
            found |= _on_device({name: sample for name, sample in samples.items() if sample.device == device}, device)
    return found


def _on_device(samples: Mapping[str, Tensor], device: torch.device) -> dict[str, int]:
    try:
        from tensortap._stats.triton_digest import add_pages
    except ImportError:
        return {name: digest.digest(sample) for name, sample in samples.items()}
    totals = torch.zeros(len(samples), dtype=torch.int64, device=device)
    for at, sample in enumerate(samples.values()):
        add_pages(digest.raw_bytes(sample), digest.page_bytes(sample), totals[at : at + 1])
    sums = zip(samples.items(), totals.tolist(), strict=True)
    return {name: digest.of_pages(total, _bytes(sample)) for (name, sample), total in sums}


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _described(tensor: Tensor, sample: Tensor) -> str:
    part = f", every {-(-tensor.numel() // max(1, sample.numel()))}th" if sample.numel() < tensor.numel() else ""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}{part}"


def _rolled_up(said: dict[str, str]) -> dict[str, str]:
    """One of each module, or of each that holds several such, where there are too many."""
    while len(said) > _MOST_NAMES:
        deepest = max(name.count(".") for name in said)
        if not deepest:
            return {f"all {len(said)}": _together(said.values())}
        groups: dict[str, list[str]] = {}
        for name, text in said.items():
            groups.setdefault(name.rpartition(".")[0] if name.count(".") == deepest else name, []).append(text)
        said = {name: texts[0] if len(texts) == 1 else _together(texts) for name, texts in groups.items()}
    return said


def _together(texts: Iterable[str]) -> str:
    """One checksum of several, in their order."""
    together = count = 0
    for text in texts:
        of_it, _, rest = text.partition(" ")
        together = (together * _FACTOR + int(of_it, 16)) & _MASK
        count += int(rest.partition(" ")[0]) if rest.endswith("together") else 1
    return f"{together:016x} {count} together"
