"""Names without what frameworks put around modules: a model is named alike with DistributedDataParallel and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torch import nn

# Under what torch.compile, FullyShardedDataParallel and checkpoint_wrapper hold the one module that they wrap.
_HELD_AS: Final = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
_PARALLEL: Final = (nn.parallel.DistributedDataParallel, nn.DataParallel)
_DISTRIBUTED: Final = "torch.distributed."


def bare(model: nn.Module) -> nn.Module:
    """The model within its wrappers."""
    while (inner := _wrapped(model, is_whole=True)) is not None:
        model = inner
    return model


def unwrapped(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The modules below a bare model by their paths without wrappers, each once."""
    return _below(model, "", {model})


def class_name(module: nn.Module) -> str:
    """The name of the module's class; of one that fully_shard or replicate made of another class, that of the other."""
    bases = type(module).__bases__
    is_made = len(bases) == 2 and bases[0].__module__.startswith(_DISTRIBUTED) and not issubclass(bases[0], nn.Module)
    return (bases[1] if is_made else type(module)).__name__


def _below(holder: nn.Module, path: str, known: set[nn.Module]) -> Iterator[tuple[str, nn.Module]]:
    for name, module in holder.named_children():
        while module not in known and (inner := _wrapped(module)) is not None:
            known.add(module)
            module = inner
        if module not in known:
            known.add(module)
            place = f"{path}.{name}" if path else name
            yield place, module
            yield from _below(module, place, known)


def _wrapped(module: nn.Module, is_whole: bool = False) -> nn.Module | None:
    """What the module only wraps, if it does. A model's own part may hold one as `module` and add to it; around the whole only wrappers do."""
    if len(module._modules) != 1:
        return None
    ((name, inner),) = module._modules.items()
    is_wrapper = name in _HELD_AS or (name == "module" and (is_whole or isinstance(module, _PARALLEL)))
    return inner if is_wrapper else None
