"""Names without the modules that frameworks put around others: a model is named alike with DistributedDataParallel and without."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Final

from torch import nn

# Under what DistributedDataParallel and its like, torch.compile and FullyShardedDataParallel hold the one module that they wrap.
_HELD_AS: Final = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module"})
_bare: Final[weakref.WeakSet[nn.Module]] = weakref.WeakSet()


def leave_out(root: nn.Module) -> None:
    """Below this root, name modules without wrappers."""
    _bare.add(root)


def below(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The modules below a root by their paths, each once; without wrappers, if that was asked for."""
    if root in _bare:
        return _unwrapped(root, "", {root})
    return ((path, module) for path, module in root.named_modules() if module is not root)


def _unwrapped(holder: nn.Module, path: str, known: set[nn.Module]) -> Iterator[tuple[str, nn.Module]]:
    for name, module in holder.named_children():
        if module in known:
            continue
        known.add(module)
        place = path if _is_wrapper(holder) else f"{path}.{name}".lstrip(".")
        if place and not _is_wrapper(module):  # without a path it is the root, but for its wrapper
            yield place, module
        yield from _unwrapped(module, place, known)


def _is_wrapper(module: nn.Module) -> bool:
    return len(module._modules) == 1 and next(iter(module._modules)) in _HELD_AS
