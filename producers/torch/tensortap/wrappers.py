"""Names without the modules that frameworks put around others: a model is named alike with DistributedDataParallel and without."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Final

from torch import nn

# Under what torch.compile and FullyShardedDataParallel hold the one module that they wrap.
_HELD_AS: Final = frozenset({"_orig_mod", "_fsdp_wrapped_module"})
_PARALLEL: Final = (nn.parallel.DistributedDataParallel, nn.DataParallel)
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
        place = path if _is_wrapper(holder, path) else f"{path}.{name}".lstrip(".")
        if place and not _is_wrapper(module, place):  # without a path it is the root, but for its wrapper
            yield place, module
        yield from _unwrapped(module, place, known)


def _is_wrapper(module: nn.Module, path: str) -> bool:
    """Whether a module only wraps another. A model's own part may hold one as `module` and add to it; around the whole only wrappers do."""
    if len(module._modules) != 1:
        return False
    name = next(iter(module._modules))
    return name in _HELD_AS or (name == "module" and (not path or isinstance(module, _PARALLEL)))
