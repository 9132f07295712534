"""An exception in an op, as text: its type, its message and what the op was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

LONGEST_MESSAGE_BYTES: Final = 4096
_MOST_INPUTS: Final = 64
_LONGEST_VALUE: Final = 80
_DEEPEST: Final = 4


def describe(
    exception: BaseException, args: Iterable[object] = (), kwargs: Mapping[str, object] | None = None
) -> tuple[str, str, str]:
    """Return (type, message, inputs) of a failed op, without reading any element of a tensor; never raises.

    Inputs is a line per argument, such as "input.0: float32[2, 128] cuda:0 requires_grad".
    """
    kind = type(exception)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return name, cut(_safely(str, exception)), cut("\n".join(_inputs(args, kwargs or {})))


def tensor_text(tensor: Any) -> str:
    """Dtype, shape, strides and device, as "float32[2, 128] strides [128, 1] cuda:0"; the class first where it is no plain one."""
    kind = type(tensor).__name__
    name = "" if kind in ("Tensor", "Parameter") else f"{kind} "
    dtype = str(tensor.dtype).removeprefix("torch.")
    return f"{name}{dtype}{_shape(tensor)}{_strides(tensor)} {getattr(tensor, 'device', '')}"


def _shape(tensor: Any) -> str:
    try:
        return str(list(tensor.shape))
    except RuntimeError:  # there is none yet, or parts differ
        return "[?]"


def _strides(tensor: Any) -> str:
    try:
        return f" strides {list(tensor.stride())}"
    except (AttributeError, RuntimeError, TypeError):  # there are none: sparse, nested, of another library
        return ""


def cut(text: str) -> str:
    """The text within the limit of bytes, with a mark where something is missing."""
    coded = text.encode("utf-8", "replace")
    if len(coded) <= LONGEST_MESSAGE_BYTES:
        return coded.decode("utf-8")
    return coded[: LONGEST_MESSAGE_BYTES - 4].decode("utf-8", "ignore") + " ..."


def _inputs(args: Iterable[object], kwargs: Mapping[str, object]) -> Iterator[str]:
    pairs = (
        *(pair for at, value in enumerate(args) for pair in _leaves(f"input.{at}", value, 0)),
        *(pair for name, value in kwargs.items() for pair in _leaves(f"kwarg.{name}", value, 0)),
    )
    yield from (f"{path}: {_safely(_shown, value)}" for path, value in pairs[:_MOST_INPUTS])
    if len(pairs) > _MOST_INPUTS:
        yield f"and {len(pairs) - _MOST_INPUTS} more"


def _leaves(path: str, value: object, depth: int) -> Iterator[tuple[str, object]]:
    if depth < _DEEPEST and isinstance(value, dict):
        for key, item in islice(value.items(), _MOST_INPUTS):
            yield from _leaves(f"{path}.{key}", item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list | tuple):
        for at, item in enumerate(islice(value, _MOST_INPUTS)):
            yield from _leaves(f"{path}.{at}", item, depth + 1)
    else:
        yield path, value


def _shown(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return tensor_text(value) + (" requires_grad" if getattr(value, "requires_grad", False) else "")
    if isinstance(value, str | bytes) and len(value) > _LONGEST_VALUE:
        return f"{value[:_LONGEST_VALUE]!r}..."
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | slice):
        return repr(value)
    return type(value).__qualname__


def _safely(shown: Any, value: object) -> str:
    # What is shown belongs to the user: its methods may raise anything, and a guest passes nothing on.
    try:
        return str(shown(value))
    except Exception:  # as above
        return f"{type(value).__qualname__} that cannot be shown"
