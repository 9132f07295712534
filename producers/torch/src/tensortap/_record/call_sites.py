"""How a caller passed the arguments of an API written in Python, which reach a mode in another form."""

from __future__ import annotations

import dis
from types import CodeType, FrameType
from typing import Any, Final

from tensortap import _torch_compat

_HANDLER: Final = "handle_torch_function"
_DISPATCHER: Final = "_jit_internal.py"  # of functions that have two bodies, as max_pool2d
_MOST_KNOWN: Final = 1 << 16  # calls in code; code that is made again and again has no end of them

Passed = tuple[int, tuple[str, ...]]  # how many by place, and the names of the others


class CallSites:
    """Puts arguments back as they were passed: F.embedding(x, w, None) comes as (x, w), padding_idx=None, max_norm=None …"""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[CodeType, Passed | None]] = {}

    def as_passed(self, frame: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as the caller passed them, as far as its code tells; frame: that which called the mode."""
        body, caller = _body_and_caller(frame)
        if body is None or caller is None:
            return args, kwargs
        passed = self._passed(caller)
        if passed == (len(args), tuple(kwargs)):
            return args, kwargs
        names = body.co_varnames[: body.co_argcount + body.co_kwonlyargcount]
        if passed is None or len(args) > len(names):
            return args, kwargs
        values = dict(zip(names, args, strict=False)) | kwargs
        by_place, by_name = passed
        if by_place > len(names) or any(name not in values for name in (*names[:by_place], *by_name)):
            return args, kwargs
        return tuple(values[name] for name in names[:by_place]), {name: values[name] for name in by_name}

    def _passed(self, caller: FrameType) -> Passed | None:
        key = (id(caller.f_code), caller.f_lasti)
        known = self._known.get(key)
        if known is None:
            known = (caller.f_code, passed(caller))
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = known
        return known[1]


def _body_and_caller(handler: FrameType | None) -> tuple[CodeType | None, FrameType | None]:
    """The body of the API that gave the call to the modes, and who called that; handler: the frame between it and a mode."""
    if handler is None or handler.f_code.co_name != _HANDLER or handler.f_back is None:
        return None, None
    caller = handler.f_back.f_back
    while caller and caller.f_code.co_filename.endswith(_DISPATCHER):
        caller = caller.f_back
    if caller and caller.f_code is _torch_compat.DEFAULT_DEVICE_CALL:
        return _body_and_caller(caller.f_back)
    return handler.f_back.f_code, caller


def passed(caller: FrameType) -> Passed | None:
    """How the call at the frame's place passes its arguments; None where the code does not say, as for f(*args)."""
    names: tuple[str, ...] = ()  # in 3.11 and 3.12 an instruction of their own before CALL
    constant: object = ()  # elsewhere the constant loaded last
    instructions = [one for one in dis.get_instructions(caller.f_code) if one.offset <= caller.f_lasti]
    for instruction in instructions[:-1]:  # the place may lie in the cache behind its instruction
        if instruction.opname == "KW_NAMES":
            names = caller.f_code.co_consts[instruction.arg or 0]
        elif instruction.opname not in ("PRECALL", "CACHE"):
            names, constant = (), instruction.argval
    return _of_call(instructions[-1], names, constant) if instructions else None


def _of_call(instruction: dis.Instruction, names: tuple[str, ...], constant: object) -> Passed | None:
    given = instruction.arg or 0
    if instruction.opname in ("CALL_FUNCTION_KW", "CALL_KW") and isinstance(constant, tuple):
        return given - len(constant), constant
    if instruction.opname in ("CALL_FUNCTION", "CALL_METHOD"):
        return given, ()
    if instruction.opname == "CALL" and len(names) <= given:
        return given - len(names), names
    return None

