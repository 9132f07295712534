"""Which operator called a method of a tensor: `x * y` reaches a mode as mul, and only the caller's opcode tells."""

from __future__ import annotations

import dis
from types import FrameType
from typing import Final

import torch

# Methods that operators call, too.
METHODS: Final = (
    "add", "sub", "mul", "div", "remainder", "pow", "matmul", "floor_divide",
    "add_", "sub_", "mul_", "div_", "remainder_", "pow_", "floor_divide_",
    "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "positive",
)  # fmt: skip
# By the argument of BINARY_OP, Python 3.11 and later; from 13 on the same in place.
_BINARY: Final = (
    "add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow", "rshift", "sub", "truediv", "xor",
)  # fmt: skip
_COMPARE: Final = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
# Of opcodes before 3.11, as BINARY_TRUE_DIVIDE.
_BEFORE_3_11: Final = {
    "ADD": "add", "AND": "and", "FLOOR_DIVIDE": "floordiv", "LSHIFT": "lshift", "MATRIX_MULTIPLY": "matmul",
    "MULTIPLY": "mul", "MODULO": "mod", "OR": "or", "POWER": "pow", "RSHIFT": "rshift", "SUBTRACT": "sub",
    "TRUE_DIVIDE": "truediv", "XOR": "xor",
}  # fmt: skip
_UNARY: Final = {"UNARY_NEGATIVE": "neg", "UNARY_POSITIVE": "pos", "UNARY_INVERT": "invert"}


def used(frame: FrameType, two_tensors: bool) -> str | None:
    """The special method that the operator at the frame's place stands for, as __mul__; None for a call by name."""
    previous, instruction = _at(frame)
    if instruction is None:
        return None
    name = instruction.opname
    if name == "COMPARE_OP":
        return f"__{_COMPARE.get(str(instruction.argval).strip(), '')}__"
    if name in _UNARY:
        return f"__{_UNARY[name]}__"
    binary, in_place = _binary(instruction)
    if binary is None:
        return None
    if in_place:
        return "__matmul__" if binary == "matmul" else f"__i{binary}__"
    reflected = not two_tensors and _right_is_tensor(frame, previous)
    return f"__r{binary}__" if reflected else f"__{binary}__"


def _at(frame: FrameType) -> tuple[dis.Instruction | None, dis.Instruction | None]:
    instructions = [one for one in dis.get_instructions(frame.f_code) if one.offset <= frame.f_lasti]
    return (instructions[-2] if len(instructions) > 1 else None), (instructions[-1] if instructions else None)


def _binary(instruction: dis.Instruction) -> tuple[str | None, bool]:
    if instruction.opname == "BINARY_OP":
        argument = instruction.arg or 0
        if argument >= 2 * len(_BINARY):
            return None, False
        return _BINARY[argument % len(_BINARY)], argument >= len(_BINARY)
    kind, _, operator = instruction.opname.partition("_")
    return _BEFORE_3_11.get(operator) if kind in ("BINARY", "INPLACE") else None, kind == "INPLACE"


def _right_is_tensor(frame: FrameType, previous: dis.Instruction | None) -> bool:
    """Whether the right operand is the tensor, where what was loaded last tells: 2 * x, and not x * 2."""
    if previous is None or not previous.opname.startswith("LOAD_FAST"):
        return False
    names = previous.argval if isinstance(previous.argval, tuple) else (previous.argval,)
    return isinstance(frame.f_locals.get(names[-1]), torch.Tensor)
