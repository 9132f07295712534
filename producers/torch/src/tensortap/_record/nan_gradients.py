"""Which op's backward makes the first gradient that is not finite: it is told by the gradients that hooks are shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from torch import Tensor

from tensortap._record.argument_trees import INPUT, OUTPUT
from tensortap._record.held_calls import Call, HeldCalls
from tensortap._record.kept_calls import places
from tensortap._record.op_names import Op

MOST_BACKWARDS: Final = 8  # of modules, whose gradients are held: that of a weight comes soon after that of the output
_END: Final = ".parameters_grad"

Gradients = dict[str, Tensor]  # of outputs by their paths; "" for the first
Values = list[tuple[str, Tensor]]  # each with what it is


class Backward:
    """What is known of the backward pass under way."""

    def __init__(self, calls: HeldCalls, bad: dict[int, set[int]], found: Callable[[Call, Values, Gradients], None]) -> None:
        self._calls, self._bad, self._tell = calls, bad, found
        self._passed: deque[tuple[Op, Gradients]] = deque(maxlen=MOST_BACKWARDS)
        self._suspects: list[tuple[Op, Gradients]] = []  # APIs within modules, where masks may be
        self.is_late = False  # numbers come when all is over: what was heard is gone through then, without its tensors
        self._heard: list[Callable[[], None]] = []

    def settle(self) -> None:
        """All numbers have come."""
        heard, self._heard, self.is_late = self._heard, [], False
        for event in heard:
            if self._bad:
                event()
        self.is_late = True

    def forget(self) -> None:
        """A step begins."""
        self._heard.clear()
        self._passed.clear()
        self._suspects.clear()

    def of_output(self, op: Op, seq: int, place: str, gradient: Tensor | None) -> None:
        """The backward of a module is given the gradient of an output."""
        if self.is_late:
            self._heard.append(partial(self.of_output, op, seq, place, None))
        elif self._bad.pop(seq, None):
            self._found(self._before(op), [(f"the gradient of output {place} of {_forward(op)}", gradient)])
        elif gradient is None or not self._passed or all(gradient is not known for known in self._passed[-1][1].values()):  # of the module around, it is the same
            self._pass(op, place, gradient)

    def _pass(self, op: Op, place: str, gradient: Tensor | None) -> None:
        if not self._passed or self._passed[-1][0] is not op:
            self._passed.append((op, {}))
        if gradient is not None:
            self._passed[-1][1][place] = gradient

    def of_parameter(self, op: Op, seq: int, name: str, gradient: Tensor | None) -> None:
        """A gradient of a module's parameter has come."""
        if self.is_late:
            self._heard.append(partial(self.of_parameter, op, seq, name, None))
        elif self._bad.pop(seq, None):
            module = op.name.rpartition(_END)[0]
            given = next(((known, gradients) for known, gradients in reversed(self._passed) if known.name.startswith(f"{module}.backward")), None)
            self._found(given or (op, {}), [(f"the gradient of its parameter {name}", gradient)])

    def of_op(self, op: Op, seq: int, given: Iterable[object] | None, made: Iterable[object] | None, is_inside: bool) -> None:
        """The backward of an op was given gradients, and made some."""
        if self.is_late:
            self._heard.append(partial(self.of_op, op, seq, None, None, is_inside))
            return
        sites = self._bad.pop(seq, None)
        roles = {role for role, _ in places(op, sites)} if sites else set()
        if OUTPUT not in roles or INPUT in roles:
            return
        gradients = {str(at): one for at, one in enumerate(given or ()) if isinstance(one, Tensor)}
        if len(gradients) == 1:
            gradients = {"": next(iter(gradients.values()))}
        if is_inside:
            self._suspects.append((op, gradients))
        else:
            self._found((op, gradients), [(f"gradient {at} of what it was given", one) for at, one in enumerate(made or ()) if isinstance(one, Tensor)])

    def _before(self, op: Op) -> tuple[Op, Gradients]:
        """The last backward that was given what is finite, which comes before that of the op."""
        return self._passed[-1] if self._passed else (op, {})

    def _found(self, found: tuple[Op, Gradients], given: list[tuple[str, Tensor | None]]) -> None:
        op, gradients = self._suspects[-1] if self._suspects else found
        values = [(what, tensor) for what, tensor in given if tensor is not None]
        call = self._calls.latest(lambda one: one.op.backward is op)
        self._tell(call or Call(op, 0, "", None, False), values, gradients if call else {})


def _forward(op: Op) -> str:
    return op.name.replace(".backward", ".forward", 1)

