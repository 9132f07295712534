"""Level L0: calls of modules and the gradients of their outputs and parameters, by hooks that change no result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from tensortap._hooks.full_backward import FullCall
from tensortap._record import module_calls, unseen
from tensortap._record.argument_trees import leaves
from tensortap._record.frames import Frame
from tensortap._record.model_roots import Part
from tensortap._record.op_names import Op
from tensortap._record.recorder import Recorder, backward_run

Watch = Callable[[Op], None]


class Handle(Protocol):
    """What a registration returns."""

    def remove(self) -> None:
        """Undo it."""


class Entry:
    """One module under its name, and the gradients of its parameters in the step."""

    __slots__ = ("calls", "fired", "gradient_calls", "gradients", "path", "step")

    def __init__(self, recorder: Recorder, path: str, kind: str) -> None:
        name = f"Module.{path}.{kind}"
        self.path = path
        self.calls = recorder.calls(f"{name}.forward", "")
        self.gradient_calls = recorder.calls(f"{name}.parameters_grad", "")
        self.step = -1
        self.fired: dict[str, int] = {}
        self.gradients: list[tuple[Op, int]] = []

    def gradient(self, recorder: Recorder, name: str) -> tuple[Op, int]:
        """Op and seq of a parameter's next gradient: the n-th of each parameter belong to the n-th op."""
        if self.step != recorder.names.step:
            self.step = recorder.names.step
            self.fired.clear()
            self.gradients.clear()
        at = self.fired.get(name, 0)
        self.fired[name] = at + 1
        if at == len(self.gradients):
            op = self.gradient_calls.take()
            self.gradients.append((op, recorder.begin(op, 0, self.path, wanted=True)))
        return self.gradients[at]


def hook_each(recorder: Recorder, parts: Iterable[Part], hook: Callable[[Part], None]) -> None:
    """Hook the modules that are wanted. Others are counted, and those that cannot be hooked."""
    for part in parts:
        if not recorder.filter.wants_module(part.path, part.kind):
            recorder.unseen.count(unseen.FILTERED, part.path)
            continue
        try:
            hook(part)
        except (RuntimeError, AttributeError, TypeError) as error:  # a scripted module, say
            recorder.unseen.count(unseen.HOOK_ERROR, f"{part.path}: {type(error).__name__}")


class ModuleHooks:
    """The hooks of one tap on the modules below its roots."""

    def __init__(self, recorder: Recorder, watch: Watch | None = None) -> None:
        self._recorder, self._watch = recorder, watch
        self._full = recorder.backward and recorder.settings.backward == "full"
        self._handles: list[Handle] = []

    def install(self, parts: Iterable[Part]) -> None:
        """Hook the modules. A module that cannot be hooked is counted."""
        hook_each(self._recorder, parts, lambda part: self._hook(Entry(self._recorder, part.path, part.kind), part.module))

    def remove(self) -> None:
        """Leave the modules as they were."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _hook(self, entry: Entry, module: nn.Module) -> None:
        hook = self._recorder.guard.hook
        before = hook("before a module", self._before, entry)
        after = hook("after a module", self._after_or_examine if self._recorder.settings.post_mortem else self._after, entry)
        self._handles.append(module_calls.before(module, before, with_kwargs=True))
        self._handles.append(module_calls.after(module, after, with_kwargs=True, always=True))
        if self._recorder.backward:
            for name, parameter in module.named_parameters(recurse=False):
                if parameter.requires_grad:
                    gradient = hook("gradient of a parameter", self._gradient, entry, name)
                    self._handles.append(parameter.register_post_accumulate_grad_hook(gradient))

    def _before(self, entry: Entry, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        recorder = self._recorder
        if not recorder.live:
            return None
        frames = recorder.thread.frames
        parent = frames[-1].op.id if frames else 0
        with recorder.lock:
            op = entry.calls.take()
            frame = Frame(op, parent, entry.path, module, sys.exc_info()[1])
            frames.append(frame)
            recorder.opens(op, parent, entry.path, args, kwargs, frame=frame)
        if not self._full:
            return None
        frame.full = FullCall(recorder, op, entry.path)
        changed = frame.full.around_inputs(args)
        return None if changed is None else (changed, kwargs)

    def _after_or_examine(self, entry: Entry, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> object:
        changed = self._after(entry, module, args, kwargs, result)
        if (error := sys.exc_info()[1]) is not None:
            self._recorder.examine(error)
        return changed

    def _after(self, entry: Entry, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> object:
        recorder = self._recorder
        frame = pop(recorder.thread.frames, module)
        if frame is None or not recorder.live:
            return None
        op, seq = frame.op, frame.seq
        with recorder.lock:
            error = sys.exc_info()[1] if result is None else None
            if error is not None and error is not frame.exception:
                recorder.failed(op, seq, entry.path, error, args, kwargs)
                if seq:
                    recorder.end(op, frame.parent, seq)
            elif seq:
                recorder.closes(op, frame.parent, seq, module, result)
            if recorder.filter.has_range:
                recorder.filter.ends_op(op.name)
            if self._watch and seq:
                self._watch(op)
            changed = frame.full.around_outputs(result) if frame.full else None
            if changed is None and recorder.backward and torch.is_grad_enabled():
                self._follow(op, entry.path, recorder.thread.frames, result)
            return changed

    def _follow(self, op: Op, path: str, frames: list[Frame], result: Any) -> None:
        """Hear of the gradients of the module's outputs, before the nodes that made them run."""
        parent = frames[-1].op if frames else None
        call = BackwardCall(self._recorder, op, parent, path)
        outputs = result if type(result) is tuple else (result,)
        for at, output in enumerate(outputs):
            for place, leaf in leaves(str(at), output, 0):
                if isinstance(leaf, Tensor) and leaf.requires_grad:
                    self._listen(call, place, leaf)

    def _listen(self, call: BackwardCall, place: str, tensor: Tensor) -> None:
        node = tensor.grad_fn
        if node is None:
            self._recorder.unseen.count(unseen.NO_BACKWARD_HOOK, call.path)
            return
        node.register_prehook(self._recorder.guard.hook("gradient of a module", call.given, place, tensor.output_nr))

    def _gradient(self, entry: Entry, name: str, parameter: Tensor) -> None:
        recorder = self._recorder
        gradient = getattr(parameter, "main_grad", None)
        gradient = parameter.grad if gradient is None else gradient
        if not recorder.live or gradient is None:
            return
        with recorder.lock:
            op, seq = entry.gradient(recorder, name)
            recorder.gradient(op, seq, name, gradient)


class BackwardCall:
    """The backwards of one call of a module: one op for each run of its graph, with a gradient of each output as it comes."""

    __slots__ = ("_op", "_parent", "_recorder", "_run", "_seq", "path")

    def __init__(self, recorder: Recorder, op: Op, parent: Op | None, path: str) -> None:
        self._recorder, self._op, self._parent, self.path = recorder, op, parent, path
        self._run, self._seq = -1, 0

    def given(self, place: str, output: int, gradients: tuple[Tensor | None, ...]) -> None:
        """The gradients of the outputs of a node, one of which is the module's."""
        recorder = self._recorder
        if not recorder.live:
            return
        with recorder.lock:
            op = recorder.names.backward(self._op)
            if self._run != (run := backward_run()):
                self._run = run
                parent = recorder.names.backward(self._parent).id if self._parent else 0
                self._seq = recorder.begin(op, parent, self.path, wanted=True)
            recorder.given(op, self._seq, place, gradients[output])


def pop(frames: list[Frame], module: nn.Module) -> Frame | None:
    """The frame of the module's call; those above it were left by an exception that no hook saw."""
    if frames and frames[-1].module is module:
        return frames.pop()
    for at in range(len(frames) - 1, -1, -1):
        if frames[at].module is module:
            frame = frames[at]
            del frames[at:]
            return frame
    return None
