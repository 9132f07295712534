"""What the C kernel reads of tensors without Python (csrc/of_torch.h): the functions of this PyTorch, used only where they say what Python does."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from tensortap import _torch_compat

_OF_LIBRARY: Final = tuple(f"aoti_torch_get_{what}" for what in ("data_ptr", "dim", "sizes", "strides", "dtype", "device_type")) + tuple(
    f"_ZN2at6native{name}ERKNS_6TensorE" for name in ("6is_neg", "12is_inference", "8_version")
)
_OF_CORE: Final = tuple(f"_ZNK3c1010TensorImpl{name}Ev" for name in ("11has_storage", "13requires_grad"))
_WORD: Final = ctypes.sizeof(ctypes.c_void_p)

Facts = Callable[[int, object], int]


def of_torch(facts: Facts) -> Any:
    """The memory of an of_torch for the kernel; None where this PyTorch is another than it knows. `facts` is the kernel's own."""
    try:
        with _torch_compat.DisableTorchFunction(), _torch_compat.DisableTorchDispatch():
            found = _of_torch()
            return found if found is not None and _agree(facts, ctypes.addressof(found)) else None
    except (OSError, AttributeError, RuntimeError):
        return None


def _of_torch() -> Any:
    folder = Path(torch.__file__).with_name("lib")
    library, core = (ctypes.CDLL(str(folder / f"lib{name}.so")) for name in ("torch_cpu", "c10"))
    functions = [_address(getattr(library, name)) for name in _OF_LIBRARY] + [_address(getattr(core, name)) for name in _OF_CORE]
    tensor = torch.zeros(2, device="cpu")
    offset = _offset(tensor)
    if offset is None:
        return None
    words = [*functions, offset, _word_at(tensor._cdata), id(Tensor), id(torch.nn.Parameter)]
    return (ctypes.c_uint64 * len(words))(*words)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _word_at(address: int) -> int:
    return int.from_bytes(ctypes.string_at(address, _WORD), "little")


def _offset(tensor: Any) -> int | None:
    """Where Python's tensor holds C++'s, which is one pointer."""
    places = range(2 * _WORD, _torch_compat.TensorBase.__basicsize__, _WORD)
    found = [at for at in places if _word_at(id(tensor) + at) == tensor._cdata]
    return found[0] if len(found) == 1 else None


def _agree(facts: Facts, address: int) -> bool:
    return all(facts(address, tensor) == _folded(tensor) for tensor in _plain()) and not any(facts(address, value) for value in _others())


def _plain() -> Iterator[Tensor]:
    """Tensors of all that facts tell apart."""
    with torch.inference_mode(False):
        zeros = torch.zeros(4, 6, device="cpu")
        yield from (zeros, zeros[1:, ::2], zeros.t(), zeros[0, 0], zeros.expand(2, 4, 6), zeros.to(torch.bfloat16), zeros.requires_grad_())
        yield from (torch.nn.Parameter(torch.ones(3, device="cpu")), torch.zeros(1, 1, 2, 1, 3, 1, dtype=torch.int64, device="cpu"))
        yield torch.zeros(3, device="cpu").add_(1).mul_(2)
    with torch.inference_mode():
        yield torch.ones(2, 3, device="cpu")


def _others() -> Iterator[object]:
    """What is no plain tensor of the CPU, or has too many dimensions, or no elements."""
    with torch.inference_mode(False):
        zeros = torch.zeros(2, 2, device="cpu")
        yield from (None, 1.5, zeros.to_sparse(), torch.zeros(2, device="meta"), torch.zeros(0, device="cpu"), torch.zeros([1] * 7, device="cpu"))
        yield from (torch.complex(zeros, zeros).conj().imag, torch.Tensor._make_subclass(torch.nn.Buffer, zeros) if hasattr(torch.nn, "Buffer") else None)


def _folded(tensor: Tensor) -> int:
    """What the kernel makes of a tensor's facts."""
    version = -1 if tensor.is_inference() else tensor._version
    total = _code(tensor.dtype) + 31 * tensor.requires_grad + tensor.data_ptr() + 1009 * (version + 1)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        total = total * 31 + size * 7 + stride
    return (total & (1 << 64) - 1) >> 1


def _code(dtype: torch.dtype) -> int:
    """PyTorch's own number of a dtype."""
    library: Any = ctypes.CDLL(str(Path(torch.__file__).with_name("lib") / "libtorch_cpu.so"))
    return int(getattr(library, f"aoti_torch_dtype_{str(dtype).removeprefix('torch.')}")())
