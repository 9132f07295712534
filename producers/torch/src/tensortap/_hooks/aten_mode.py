"""What both ways of level aten share: a mode of the dispatcher that changes nothing for the model."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from tensortap._record.heard_calls import hear_mode, left
from tensortap._record.recorder import Recorder
from tensortap._torch_compat import (
    CONJUGATE,
    NEGATIVE,
    DisableTorchDispatch,
    OpOverload,
    RestoreDispatch,
    SetExcluded,
    TorchDispatchMode,
    has_kernel,
    is_in_torch_dispatch_mode,
)

Leaves = Callable[..., None]
Needs = tuple[bool, bool]
Entered = tuple[Leaves, Any] | tuple[Leaves, Any, Callable[[], None]]
_COMPOSITE: Final = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_DTYPES: Final[dict[type, torch.dtype]] = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


class AtenMode(TorchDispatchMode):
    """Sees every op that reaches the dispatcher below autograd. Compiled code stays compiled, and hides what it runs."""

    supports_higher_order_operators = True  # else they raise under a mode

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder
        self._caught = recorder.guard.caught
        self.thread = 0
        hear_mode(self, "__torch_dispatch__")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let the op pass as it is; with the kernel, that does so."""
        kwargs = kwargs or {}
        leaves, run, *ends = self._enter(func, types, args, kwargs)
        return left(leaves, functools.partial(_run_and_end, run, *ends) if ends else run, args, kwargs)

    def _enter(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Entered:
        """An op is about to run: what leaves it, what is run, and what is to be called as soon as that is over, if anything is."""
        raise NotImplementedError

    def _unrecorded(self, func: Any, types: Any, args: Sequence[Any]) -> Entered:
        """An op is about to run that is not recorded."""
        try:
            needs, run = dispatch_needs(func, args), run_of(func, args)
        except Exception as error:  # as in Guard, which costs a call more
            self._caught("aten", error)
            return _nothing, func
        return self._entered(_nothing, run, types, needs) if needs else (_nothing, run)

    def _entered(self, leaves: Leaves, run: Any, types: Any, needs: Needs) -> Entered:
        """As _enter, of an op whose parts need a dispatch of their own."""
        try:
            end = begin_dispatch(types, needs)
        except Exception as error:  # likewise
            self._caught("aten", error)
            end = None
        return (leaves, run, end) if end else (leaves, run)

    def begin_step(self) -> None:
        """A step begins."""

    def end_step(self) -> None:
        """The step is over. To be called under the session's lock."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """What is compiled is not run eagerly for our sake."""
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch's own way to that end imports its compiler, for seconds, and costs each op a microsecond

    def on_this_thread(self) -> None:
        """The mode is put on the stack of the thread that calls."""
        self.thread = threading.get_ident()


def _nothing(*returned: Any) -> None:
    pass


@functools.cache
def is_composite(func: Any) -> bool:
    """Whether the op is made of others, which it calls below a mode. What writes or returns views has been above it, and keeps that from them."""
    return type(func) is OpOverload and any(has_kernel(func.name(), of) for of in _COMPOSITE) and not has_kernel(func.name(), "ADInplaceOrView")


def dispatch_needs(func: Any, args: Iterable[Any]) -> Needs | None:
    """Whether an op is composite, and whether it may conjugate, as both decide how its parts are to be dispatched; None for neither."""
    needs = is_composite(func), any(map(_is_complex, args))
    return needs if any(needs) else None


def _is_complex(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.is_complex()
    return type(value) in (list, tuple) and bool(value) and _is_complex(value[0])


def _run_and_end(run: Any, end: Callable[[], None], /, *args: Any, **kwargs: Any) -> Any:
    try:
        return run(*args, **kwargs)
    finally:
        end()


def begin_dispatch(types: Any, needs: Needs) -> Callable[[], None] | None:
    """Dispatch the parts of an op that has such needs as without a mode, until what is returned is called; None where they are so already.

    The dispatch keys above a mode are off while the mode runs an op, since those keys have seen the op. They have not seen the op's parts.
    Autocast is to cast the parts of a composite op in inference mode. Such a part may also be a view of a parameter.
    The keys that conjugate and negate tensors are among those that are off. Without them an op reads its conjugated tensors as they lie in memory.
    """
    if types or is_in_torch_dispatch_mode():
        return None  # a class's or the program's own mode decides how the parts are dispatched
    composite, may_conjugate = needs
    if composite and torch.is_inference_mode_enabled():
        dispatch = _as_outside()
    elif may_conjugate:
        dispatch = _conjugating()
    else:
        return None
    next(dispatch)
    return dispatch.close


def _as_outside() -> Generator[None, None, None]:
    with RestoreDispatch(), DisableTorchDispatch():
        yield


def _conjugating() -> Generator[None, None, None]:
    with SetExcluded(CONJUGATE, False), SetExcluded(NEGATIVE, False):
        yield


def run_of(func: Any, args: Sequence[Any]) -> Any:
    """What is run as the op: itself, unless it is given numbers where it takes tensors alone, as a mode is for what TorchScript does with its constants."""
    for at in _tensor_places(func):
        if at < len(args) and type(args[at]) in _DTYPES:
            return functools.partial(_run_with_tensors, func)
    return func


@functools.cache
def _tensor_places(func: Any) -> tuple[int, ...]:
    """Where numbers stand for an op's only tensor, or for the two that it compares; torch itself makes tensors of the numbers that others are given."""
    schema = getattr(func, "_schema", None)
    places = tuple(at for at, argument in enumerate(schema.arguments) if str(argument.type) == "Tensor") if schema else ()
    return places if len(places) == 1 or str(func) == "aten.equal.default" else ()


def _run_with_tensors(func: Any, *args: Any, **kwargs: Any) -> Any:
    given = list(args)
    for at in _tensor_places(func):
        if type(given[at]) in _DTYPES:
            given[at] = torch.tensor(given[at], dtype=_DTYPES[type(given[at])])
    return func(*given, **kwargs)
