"""What the ops of a step were given, held while somebody may ask: references, and copies of what an op itself overwrites."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from tensortap import _torch_compat
from tensortap._record.argument_trees import INPUT, KWARG, OUTPUT, leaves
from tensortap._record.finite import plain_or_none
from tensortap._record.op_names import Op

_SIMPLE: Final = frozenset((type(None), bool, int, float, str))
_UNKNOWN: Final = -1  # version of a tensor of inference mode, of which torch counts no writes
_DEVICES: Final = ("cpu", "cuda")

Place = tuple[str, str]  # role and path


class Held(NamedTuple):
    """A tensor as it was."""

    tensor: Tensor
    version: int
    copy: Tensor | None

    def as_it_was(self) -> Tensor | None:
        """None where it was written in place since."""
        if self.copy is not None:
            return self.copy
        return self.tensor if version(self.tensor) == self.version and _has_storage(self.tensor) else None


class Call:
    """One call of an op."""

    __slots__ = ("args", "autocast", "bytes", "function", "held", "inputs_are_bad", "is_inside", "is_let_go", "kwargs", "op", "path", "random", "result", "seq", "with_gradients")

    def __init__(self, op: Op, seq: int, path: str, function: Any, is_inside: bool) -> None:
        self.op, self.seq, self.path, self.function = op, seq, path, function  # a module, or an API
        self.is_inside = is_inside  # of another module's call
        self.args: Any = ()
        self.kwargs: Any = {}
        self.held: dict[int, Held] = {}  # by the id of the tensor
        self.random: dict[str, Tensor] = {}
        self.autocast: dict[str, str] = {}
        self.with_gradients = False
        self.result: Any = None  # held once it is known, or may be, that it is not finite
        self.inputs_are_bad = False
        self.is_let_go = False  # what it was given and made
        self.bytes = 0

    @property
    def module(self) -> nn.Module | None:
        """The module, where it is one's call."""
        return self.function if isinstance(self.function, nn.Module) else None

    def holds_result(self, result: Any) -> None:
        """It has made that."""
        self.result = result
        tensors = (leaf for _, leaf in leaves("", result, 0) if isinstance(leaf, Tensor))
        self.bytes += sum(tensor.nbytes for tensor in tensors if tensor.layout is torch.strided)

    def let_go(self) -> None:
        """Hold nothing of it any longer but that it was called."""
        self.args, self.kwargs, self.held, self.random, self.result = (), {}, {}, {}, None
        self.is_let_go = True

    def tensors(self) -> Iterator[tuple[Place, Tensor]]:
        """What it was given and made, each at its place."""
        results = self.result if type(self.result) is tuple else (self.result,)
        for role, values in ((INPUT, enumerate(self.args)), (KWARG, self.kwargs.items()), (OUTPUT, enumerate(results))):
            for name, value in values:
                yield from (((role, path), leaf) for path, leaf in leaves(str(name), value, 0) if isinstance(leaf, Tensor))


class HeldCalls:
    """The calls of the step under way; of those that are complete the last ones, within a limit of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._calls: dict[int, Call] = {}
        self._complete: deque[Call] = deque()
        self._gone: list[Call] = []  # of which nothing is held but that they were
        self._overwritten: dict[int, tuple[int, ...]] = {}  # by op: places among the tensors that it is given
        self.bytes = self.most_seen = self.let_go = 0

    def forget(self) -> None:
        """A step begins, or all is known of the last one."""
        self._calls.clear()
        self._complete.clear()
        self._gone.clear()
        self.bytes = self.let_go = 0

    def add(self, call: Call) -> None:
        """A call begins."""
        self._calls[call.seq] = call

    def hold(self, call: Call, args: Any, kwargs: Mapping[str, Any] | None) -> None:
        """A call begins, of which is held what it is given."""
        found: list[Tensor] = []
        call.args, call.kwargs = _shown(tuple(args), found), _shown(dict(kwargs), found) if kwargs else {}
        overwritten = self._overwritten.get(call.op.id)
        if overwritten is None:
            overwritten = self._overwritten[call.op.id] = _said_to_overwrite(call)
        for at, tensor in enumerate(found):
            call.held[id(tensor)] = Held(tensor, version(tensor), _copy(tensor) if at in overwritten else None)
            call.bytes += tensor.nbytes if tensor.layout is torch.strided else 0
        call.random = random_states()
        call.autocast = {device: str(torch.get_autocast_dtype(device)) for device in _DEVICES if torch.is_autocast_enabled(device)}
        call.with_gradients = torch.is_grad_enabled()
        self.add(call)

    def get(self, seq: int) -> Call | None:
        """The call of that number, if it is still held."""
        return self._calls.get(seq)

    def drop(self, call: Call) -> None:
        """Nobody will ask."""
        self._calls.pop(call.seq, None)

    def complete(self, call: Call) -> None:
        """It may be asked for later in the step."""
        written = tuple(at for at, held in enumerate(call.held.values()) if held.version != version(held.tensor))
        if written and not self._overwritten.get(call.op.id):
            self._overwritten[call.op.id] = written  # from its next call on they are copied before it
        self._complete.append(call)
        self.bytes += call.bytes
        while self.bytes > self._most:
            self._let_go(self._complete.popleft())
        self.most_seen = max(self.most_seen, self.bytes)

    def completed(self) -> list[Call]:
        """Those that are complete, the first first, with those that were let go of."""
        return [*self._gone, *self._complete]

    def _let_go(self, call: Call) -> None:
        self.bytes -= call.bytes
        self.let_go += 1
        self._calls.pop(call.seq, None)
        self._gone.append(call)
        call.let_go()

    def latest(self, wanted: Callable[[Call], bool]) -> Call | None:
        """The last call that is so."""
        return next((call for call in reversed(self._calls.values()) if wanted(call)), None)


def version(tensor: Tensor) -> int:
    """How often it was written in place, as far as torch counts that."""
    return _UNKNOWN if tensor.is_inference() else tensor._version


def random_states() -> dict[str, Tensor]:
    """The states of torch's generators: of the CPU, and of the current CUDA device where there is one."""
    states = {"cpu": torch.default_generator.get_state()}
    if torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _shown(value: Any, found: list[Tensor]) -> Any:
    """The value in containers of its own, which the op cannot change, and its tensors in order."""
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if isinstance(value, Tensor):
        found.append(value)
        return value
    if kind is tuple:
        return tuple([_shown(one, found) for one in value])
    if kind is list:
        return [_shown(one, found) for one in value]
    if kind is dict:
        return {name: _shown(one, found) for name, one in value.items()}
    return value


def _said_to_overwrite(call: Call) -> tuple[int, ...]:
    """An op says by its name, or its module by an attribute, that it writes into the first tensor."""
    if call.module is not None:
        return (0,) if getattr(call.module, "inplace", False) is True else ()
    name = call.op.name.split(".")[1]
    in_place = name.startswith("__i") or name == "__setitem__" if name.endswith("__") else name.endswith("_")
    return (0,) if in_place or call.kwargs.get("inplace") is True else ()


def _copy(tensor: Tensor) -> Tensor | None:
    found = plain_or_none(tensor)
    if found is None:
        return None
    with _torch_compat.DisableTorchDispatch():
        return found.clone()


def _has_storage(tensor: Tensor) -> bool:
    """Whether its elements are still there: sharded training frees those of weights."""
    try:
        return tensor.numel() == 0 or tensor.untyped_storage().nbytes() > 0
    except (RuntimeError, NotImplementedError):
        return True
