"""What an ATen op is called, what it was given and what it gave back: facts about tensors, none of their elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import torch
from torch import Tensor

from tensortap._record.argument_trees import leaves
from tensortap._record.failures import tensor_text
from tensortap._torch_compat import OpOverload

_MOST_TENSORS: Final = 64  # named of one op; foreach ops take hundreds

Named = tuple[str, object]


def op_name(func: Any) -> str:
    """The op in our names, as Aten.mm.default of aten.mm.default."""
    return "Aten." + str(func).removeprefix("aten.")


def direct(func: Any) -> Any:
    """What an op of torch's calls in the end, without its method in between, unless it may call another then."""
    return func._op if type(func) is OpOverload and not getattr(func, "_pyobj_dispatcher", None) else func


def is_told_by_inputs(func: Any) -> bool:
    """Whether dtype, shape and strides of what the op gives back follow from those of tensors, if it is given no sizes or dimensions."""
    by_values = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}
    return getattr(func, "namespace", "") == "aten" and not by_values.intersection(getattr(func, "tags", by_values))


def given(func: Any, args: Iterable[object], kwargs: Mapping[str, object]) -> Iterator[Named]:
    """Every argument by its name in the op's signature, or by its place where there is none."""
    schema = getattr(func, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    for at, value in enumerate(args):
        yield names[at] if at < len(names) else f"arg{at}", value
    yield from kwargs.items()


def tensors(named: Iterable[Named]) -> Iterator[tuple[str, Tensor]]:
    """The tensors among values and within their lists, by path."""
    for name, value in named:
        for path, leaf in leaves(name, value, 0):
            if isinstance(leaf, Tensor):
                yield path, leaf


def input_lines(named: Iterable[Named]) -> list[str]:
    """A line per tensor, as "mat2: float32[256, 512] strides [512, 1] cpu"."""
    return _most(f"{path}: {tensor_text(tensor)}" for path, tensor in tensors(named))


def output_lines(result: object) -> list[str]:
    """A line per tensor of a result, in order, as "float32[128, 512] strides [512, 1] cpu"."""
    return _most(tensor_text(tensor) for _, tensor in tensors([("0", result)]))


def _most(lines: Iterator[str]) -> list[str]:
    shown = list(islice(lines, _MOST_TENSORS))
    more = sum(1 for _ in lines)
    return [*shown, f"and {more} more"] if more else shown
