"""All that a tap could leave behind in a process, found by a walk: compared before the first tap and after the last."""

from __future__ import annotations

import builtins
import functools
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from types import CellType, ModuleType
from typing import Any

import torch
from torch import nn

Traces = dict[str, Any]
_CONTAINERS = (dict, list, set, tuple)
_OURS, _OBJECTS = "tensortap", "objects of"
_DEEP = 6
_WARNING = ("reduce_op",)  # of torch.distributed: deprecated, and says so whatever is asked of it


def traces(model: nn.Module) -> Traces:
    """What is where, by its place; values are kept, so that no other gets their identity."""
    return {**_torch(), **_model(model), **_modes(), **_process()}


def left(before: Traces, after: Traces) -> list[str]:
    """Places that hold something else than before, and new ones that hold something of ours."""
    found = [place for place, value in before.items() if place not in after or not _same(value, after[place])]
    return found + [place for place, value in after.items() if place not in before and (place.startswith(_OBJECTS) or is_ours(value))]


def is_ours(value: object, deep: int = _DEEP) -> bool:
    """Whether it is of the collector, or wraps or holds something that is."""
    if isinstance(value, ModuleType) or deep == 0:
        return False
    if any(str(getattr(of, "__module__", "")).partition(".")[0] == _OURS for of in (value, type(value))):
        return True
    return any(is_ours(part, deep - 1) for part in _parts(value))


def _parts(value: object) -> Iterator[object]:
    """What a callable or a container holds."""
    if isinstance(value, functools.partial):
        yield from (value.func, *value.args)
    elif isinstance(value, dict):
        yield from list(value.values())
    elif isinstance(value, _CONTAINERS):
        yield from list(value)  # type: ignore[call-overload]
    elif callable(value) and not isinstance(value, type):
        attributes = vars(value) if hasattr(value, "__dict__") else {}
        yield from (attributes.get("__wrapped__"), getattr(value, "__func__", None))
        yield from (cell.cell_contents for cell in getattr(value, "__closure__", None) or () if cell != CellType())


def _same(one: object, other: object) -> bool:
    """The same object, or containers of the same objects."""
    if one is other:
        return True
    if type(one) is not type(other) or not isinstance(one, (*_CONTAINERS, str, int)):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


def _torch() -> Traces:
    """Functions, classes and their attributes in torch's namespaces, and the containers of hooks there."""
    found: Traces = {}
    seen: set[int] = set()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch" and isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if attribute in _WARNING:
                    continue
                place = f"{name}.{attribute}"
                if isinstance(value, _CONTAINERS):
                    if "hook" in attribute or is_ours(value, 2):
                        found[place] = _copied(value)
                elif callable(value):
                    found[place] = value
                if isinstance(value, type) and id(value) not in seen:
                    seen.add(id(value))
                    found |= {f"{place}.{key}": member for key, member in list(vars(value).items()) if callable(member)}
    return found


def _model(model: nn.Module) -> Traces:
    """What hangs on modules and parameters: attributes, and the dictionaries of hooks with what is in them."""
    found: Traces = {}
    for path, module in model.named_modules():
        found[f"model {path}: class"] = type(module)
        found |= {f"model {path}: {key}": _copied(value) for key, value in vars(module).items() if isinstance(value, _CONTAINERS) or callable(value)}
    for path, parameter in model.named_parameters():
        hooks = ("_backward_hooks", "_post_accumulate_grad_hooks")
        found |= {f"parameter {path}: {key}": _copied(getattr(parameter, key, None) or {}) for key in hooks}
        found[f"parameter {path}: attributes"] = sorted(vars(parameter))
    return found


def _modes() -> Traces:
    """The stacks of modes of this thread, and autograd's hooks on what is saved, which 2.4 does not tell."""
    functions = [torch._C._get_function_stack_at(at) for at in range(torch._C._len_torch_function_stack())]
    dispatches = [torch._C._get_dispatch_stack_at(at) for at in range(torch._C._len_torch_dispatch_stack())]
    top_hooks: Any = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda _: None)
    return {"modes of functions": functions, "modes of dispatch": dispatches, "hooks on saved tensors": top_hooks(False)}


def _process() -> Traces:
    """What belongs to the process: signals, threads, modules, what Python calls by itself, files."""
    found: Traces = {f"module {name}": module for name, module in list(sys.modules.items())}
    found |= {f"signal {number}": signal.getsignal(number) for number in signal.valid_signals()}
    for of in (sys, threading):
        found |= {f"{of.__name__}.{name}": getattr(of, name) for name in ("excepthook", "settrace", "setprofile")}
    found |= {f"builtins.{name}": value for name, value in vars(builtins).items() if callable(value) and name != "_"}
    return found | _ours() | {
        "tracers": [sys.gettrace(), sys.getprofile()],
        "finders": [*sys.meta_path, *sys.path_hooks],
        "collection": list(gc.callbacks),
        "warnings": [warnings.showwarning, *warnings.filters],
        "environment": dict(os.environ),
        "threads": sorted(str(thread.ident) for thread in threading.enumerate()),
        "threads of the system": len(os.listdir("/proc/self/task")),
        "files": _files(),
    }


def _ours() -> Traces:
    """How many objects of each of the collector's classes Python knows of. What is called at exit is not to be listed, but keeps its tap alive."""
    kinds = [type(one) for one in gc.get_objects() if str(type(one).__module__).partition(".")[0] == _OURS]
    return {f"{_OBJECTS} {kind.__name__}": kinds.count(kind) for kind in set(kinds)}


def _files() -> list[str]:
    """What is open, and what is mapped of spools."""
    opened = []
    for number in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{number}"
        if os.path.lexists(path) and not (target := os.readlink(path)).startswith("/proc/"):
            opened.append(f"{number} {target}")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return sorted(opened) + sorted({line.split()[-1] for line in maps if "/rows-" in line or line.rstrip().endswith(("/header", "/definitions"))})


def _copied(value: Any) -> Any:
    return type(value)(value) if type(value) in _CONTAINERS else dict(value) if isinstance(value, dict) else value
