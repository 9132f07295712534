"""Which operator called a method of a tensor: `x * y` reaches a mode as mul, and only the caller's opcode tells."""

from __future__ import annotations

import dis
from types import FrameType
from typing import Final

import torch

from tensortap._record.local_variables import local_variable

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


_UNKNOWN: Final = object()


def used(frame: FrameType, two_tensors: bool) -> str | None:
    """The special method that the operator at the frame's place stands for, as __mul__; None for a call by name."""
    before = [one for one in dis.get_instructions(frame.f_code) if one.offset <= frame.f_lasti]
    if not before:
        return None
    instruction = before.pop()
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
    reflected = not two_tensors and _right_is_tensor(frame, before)
    return f"__r{binary}__" if reflected else f"__{binary}__"


def _binary(instruction: dis.Instruction) -> tuple[str | None, bool]:
    if instruction.opname == "BINARY_OP":
        argument = instruction.arg or 0
        if argument >= 2 * len(_BINARY):
            return None, False
        return _BINARY[argument % len(_BINARY)], argument >= len(_BINARY)
    kind, _, operator = instruction.opname.partition("_")
    return _BEFORE_3_11.get(operator) if kind in ("BINARY", "INPLACE") else None, kind == "INPLACE"


def _right_is_tensor(frame: FrameType, before: list[dis.Instruction]) -> bool:
    """Whether of one tensor and one number the tensor is the right operand, as far as code tells: 2 * x, and not x * 2."""
    right = _value(frame, before, 0)
    if right is not _UNKNOWN:
        return isinstance(right, torch.Tensor)
    left = _left(frame, before)
    return left is not _UNKNOWN and not isinstance(left, torch.Tensor)


def _left(frame: FrameType, before: list[dis.Instruction]) -> object:
    """What was loaded before the code that makes the right operand, which is where the stack is one less."""
    height = 0
    for at in range(len(before) - 1, 0, -1):
        if before[at].opcode in dis.hasjrel:
            return _UNKNOWN
        height += dis.stack_effect(before[at].opcode, before[at].arg, jump=False)
        if height >= 1:
            return _value(frame, before[:at], 0) if height == 1 else _value(frame, before[: at + 1], 1)
    return _UNKNOWN


def _value(frame: FrameType, loads: list[dis.Instruction], nth: int) -> object:
    """The value that the last instruction loads, the nth from its last; no code runs for it."""
    name, loaded = loads[-1].opname, loads[-1].argval
    if name in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return loaded
    if name.startswith("LOAD_FAST") or name in ("LOAD_DEREF", "LOAD_NAME"):
        names = loaded if isinstance(loaded, tuple) else (loaded,)
        return local_variable(frame, names[-1 - nth], _UNKNOWN)
    if name == "LOAD_GLOBAL":
        return frame.f_globals.get(loaded, _UNKNOWN)
    if name == "LOAD_ATTR" and len(loads) > 1:
        owner = _value(frame, loads[:-1], 0)
        return getattr(owner, "__dict__", {}).get(loaded, _UNKNOWN)
    return _UNKNOWN
