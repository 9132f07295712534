"""The private names of PyTorch that the collector imports, in one place: what a new version takes away is missed here.

All are in 2.4 and in 2.15, between which the collector is tested (make test-torch-versions), unless a line says otherwise.
It stands outside of the packages, since statistics and records use it as hooks do. Attributes of torch's objects, as
_version of tensors and _parameters of modules, are where they are used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final

import torch
from torch._ops import OpOverload as OpOverload
from torch.nn.modules._functions import BackwardHookFunction as BackwardHookFunction
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode
from torch.utils._python_dispatch import is_in_torch_dispatch_mode as is_in_torch_dispatch_mode

# Neither modes nor subclasses see what runs within.
DisableTorchFunction: Final[Callable[[], AbstractContextManager[Any]]] = torch._C.DisableTorchFunction
# Neither modes of the dispatcher nor what subclasses make of their ops see what runs within.
DisableTorchDispatch: Final[Callable[[], AbstractContextManager[Any]]] = torch._C._DisableTorchDispatch
# What runs within is dispatched as where the op was called that a mode of the dispatcher hears of. In 2.1, too.
RestoreDispatch: Final[Callable[[], AbstractContextManager[Any]]] = torch._C._RestorePythonTLSSnapshot  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
# Whether a dispatch key is left out in what runs within; those by which tensors are conjugated and negated as they are read. In 2.1, too.
SetExcluded: Final[Callable[[Any, bool], AbstractContextManager[Any]]] = torch._C._SetExcludeDispatchKeyGuard
CONJUGATE: Final = torch._C.DispatchKey.Conjugate
NEGATIVE: Final = torch._C.DispatchKey.Negative
# What torch.jit.trace records into in this thread; None where it does not.
get_tracing_state: Final[Callable[[], object]] = torch._C._get_tracing_state
# The functions by which torch.jit traces and compares what it traced; one that the program imported itself calls the others.
jit_trace: Final[Any] = torch.jit._trace  # pyright: ignore[reportAttributeAccessIssue]
JIT_TRACERS: Final = tuple(name for name in ("trace", "_trace_impl", "trace_module", "_check_trace", "_get_trace_graph") if name in vars(jit_trace))
# The run of autograd's engine that calls; -1 outside of one.
current_graph_task_id: Final[Callable[[], int]] = torch._C._current_graph_task_id
# What starts autograd's engine: the places that have the function, and its name there. In 2.3, too.
ENGINE_START: Final = ((torch.autograd.graph, torch.autograd), "_engine_run_backward")
# torch.func's wrappers of tensors.
functorch: Final[Any] = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]
# How views and their creation are told to autograd: _set_creation_meta, CreationMeta.
autograd: Final[Any] = torch._C._autograd  # pyright: ignore[reportAttributeAccessIssue]
# Whether this thread is being profiled, by whomever.
is_profiling: Final[Callable[[], bool]] = autograd._profiler_enabled
# The functions of Python that TorchScript has ops for, by their ids.
script_builtins: Final[Callable[[], dict[int, str]]] = torch.jit._builtins._get_builtin_table  # pyright: ignore[reportAttributeAccessIssue]
# Which code torch.compile looks at: skip_code; where that is gone, as in 2.15, set_code_exec_strategy with _FrameAction and _FrameExecStrategy.
eval_frame: Final[Any] = torch._C._dynamo.eval_frame  # pyright: ignore[reportAttributeAccessIssue]

# What begins or ends to let torch.compile see what a thread calls, and where that is looked up; the second may be imported later.
set_eval_frame: Final[Callable[[Any], Any]] = eval_frame.set_eval_frame
SET_EVAL_FRAME_PLACES: Final = ("torch._C._dynamo.eval_frame", "torch._dynamo.eval_frame")


def left_to_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, at which torch.compile does not look, nor at what it calls."""
    if not hasattr(eval_frame, "skip_code"):
        skip = eval_frame._FrameAction.SKIP
        eval_frame.set_code_exec_strategy(function.__code__, eval_frame._FrameExecStrategy(skip, skip))
        return function

    @functools.wraps(function)
    def alone(*args: Any, **kwargs: Any) -> Any:
        looking = set_eval_frame(None)
        try:
            return function(*args, **kwargs)
        finally:
            set_eval_frame(looking)

    eval_frame.skip_code(getattr(alone, "__code__"))  # noqa: B009
    return alone


def has_kernel(op: str, key: str) -> bool:
    """Whether an op has a kernel of its own for a dispatch key, both by name. Ops of TorchScript alone are unknown to the dispatcher. In 2.1, too."""
    return torch._C._dispatch_has_kernel(op) and torch._C._dispatch_has_kernel_for_dispatch_key(op, key)


# What tensors are in Python, below all that is written in it.
TensorBase: Final[Any] = torch._C.TensorBase  # pyright: ignore[reportAttributeAccessIssue]
# The functions of torch that are written in C, as torch's own code in Python calls them.
variable_functions: Final[Any] = torch._C._VariableFunctions  # pyright: ignore[reportAttributeAccessIssue]
# The store of the process group that a program made first; in 2.3, too.
default_store: Final[Callable[[], Any]] = lambda: torch.distributed.distributed_c10d._get_default_store()  # noqa: E731

# The stacks of the modes of a thread: how many, the one at a place, off and on again.
len_torch_function_stack: Final = torch._C._len_torch_function_stack
get_function_stack_at: Final = torch._C._get_function_stack_at
pop_torch_function_stack: Final = torch._C._pop_torch_function_stack
push_on_torch_function_stack: Final = torch._C._push_on_torch_function_stack
len_torch_dispatch_stack: Final = torch._C._len_torch_dispatch_stack
get_dispatch_stack_at: Final = torch._C._get_dispatch_stack_at
pop_torch_dispatch_stack: Final = torch._C._pop_torch_dispatch_stack
push_on_torch_dispatch_stack: Final = torch._C._push_on_torch_dispatch_stack

# What the mode of a default device runs for each call, which it passes on as it came.
DEFAULT_DEVICE_CALL: Final = DeviceContext.__torch_function__.__code__
# Whether that mode puts itself below all others; in 2.4 it goes on top, and takes whatever is there off for itself.
DEFAULT_DEVICE_IS_LOWEST: Final = "_push_mode" in DeviceContext.__enter__.__code__.co_names
