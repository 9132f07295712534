"""The models of a tap, and the names of what is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

from torch import nn

from tensortap._record.model_wrappers import bare, class_name, unwrapped

Models = nn.Module | Sequence[nn.Module]
Held = Callable[[], "nn.Module | None"]


class Part(NamedTuple):
    """A module that is recorded."""

    path: str
    kind: str  # the name of its class
    module: nn.Module


class Roots:
    """Models that a tap was given, which keeps none of them alive; where there are several, their places begin the paths."""

    def __init__(self, models: Models = ()) -> None:
        self._models = [_held(model) for model in ([models] if isinstance(models, nn.Module) else models)]

    def __iter__(self) -> Iterator[nn.Module]:
        return (model for held in self._models if (model := held()) is not None)

    def __len__(self) -> int:
        """How many there ever were."""
        return len(self._models)

    def add(self, model: nn.Module) -> None:
        """A further model, or one that is here already."""
        if self.place(model) < 0:
            self._models.append(_held(model))

    def place(self, model: object) -> int:
        """Where the model stands among all that there ever were; -1 for none of them."""
        if model is None:  # nor is it one that is gone
            return -1
        return next((at for at, held in enumerate(self._models) if held() is model), -1)

    def parts(self) -> Iterator[Part]:
        """The modules below each root, each once."""
        for at, root in enumerate(held() for held in self._models):
            for path, module in root.named_modules() if root is not None else ():
                if module is not root:
                    yield Part(path if len(self._models) == 1 else f"{at}.{path}", type(module).__name__, module)

    def fresh_parts(self) -> list[Part]:
        """Those that had no path yet. What is given to a tap in mid-step waits for its next start: it changes the others' paths."""
        return []


class FoundRoots(Roots):
    """Models that were found in a program, which alone says how long they live.

    Paths are without wrappers. Those of the first model are its own, so that nothing is named anew when there is a second; those
    of another begin with its class, and the number of that class, whether the former ones live or not: the same in each run.
    """

    def __init__(self) -> None:
        super().__init__()
        self._found: list[tuple[Held, str]] = []
        self._classes: Counter[str] = Counter()
        self._paths: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()

    def __iter__(self) -> Iterator[nn.Module]:
        return (model for held, _ in self._found if (model := held()) is not None)

    def __len__(self) -> int:
        """How many there ever were."""
        return len(self._found)

    def add(self, model: nn.Module) -> None:
        """A further model, or one that is here already."""
        if self.place(model) < 0:
            self._found.append((_held(model), self._name(model)))

    def place(self, model: object) -> int:
        """Where the model stands among all that there ever were; -1 for none of them."""
        if model is None:  # nor is it one that is gone
            return -1
        return next((at for at, (held, _) in enumerate(self._found) if held() is model), -1)

    def parts(self) -> Iterator[Part]:
        """The modules below each root, each once and for ever under the path that it had first. A single layer is its own part."""
        met: set[nn.Module] = set()
        for root, name in [(held(), name) for held, name in self._found]:
            for path, module in _below(root) if root is not None else ():
                if module not in met:
                    met.add(module)
                    whole_path = ".".join(filter(None, (name, path)))
                    yield Part(self._paths.setdefault(module, whole_path), class_name(module), module)

    def fresh_parts(self) -> list[Part]:
        """Those that had no path yet."""
        named = set(self._paths)
        return [part for part in self.parts() if part.module not in named]

    def _name(self, model: nn.Module) -> str:
        kind = class_name(bare(model))
        before = self._classes[kind]
        self._classes[kind] += 1
        if not self._found and not is_layer(model):
            return ""
        return f"{kind}.{before}" if before else kind


class _Container:
    """A container that is never called. Its maker may not keep it: `tap(nn.ModuleList([first, second]))`; it is there as long as a part is."""

    def __init__(self, root: nn.Module) -> None:
        self._root, self._kind = ref(root), type(root)
        self._parts = [(name, ref(part)) for name, part in root.named_children()]

    def __call__(self) -> nn.Module | None:
        """It, or one like it."""
        root = self._root()
        parts = {name: part for name, held in self._parts if (part := held()) is not None}
        if root is not None or not parts:
            return root
        root = self._kind.__new__(self._kind)
        nn.Module.__init__(root)
        root._modules.update(parts)
        root.training = any(part.training for part in parts.values())
        self._root = ref(root)
        return root


def _held(model: nn.Module) -> Held:
    is_never_called = getattr(type(model), "forward", None) is nn.Module.forward and "forward" not in vars(model)
    return _Container(model) if is_never_called else ref(model)


def is_layer(model: nn.Module) -> bool:
    """Whether the model has no parts."""
    return not any(True for _ in bare(model).children())


def compiled(roots: Roots) -> list[str]:
    """The modules that torch.compile runs, in which no hook is called, each once under the path that it has in the first root."""
    found: dict[nn.Module, str] = {}
    for root in roots:
        for path, module in root.named_modules():
            call = module._compiled_call_impl
            if type(module).__name__ == "OptimizedModule" or (call is not None and call != module._call_impl):  # equal under TORCHDYNAMO_DISABLE
                found.setdefault(module, path or type(module).__name__)
    return list(found.values())


def _below(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    inner = bare(root)
    return iter([("", inner)]) if is_layer(root) else unwrapped(inner)
