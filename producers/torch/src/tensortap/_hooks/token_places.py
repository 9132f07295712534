"""Level tokens: the places of a model at which tokens are looked at, found by what its modules are called and are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from torch import Tensor, nn

from tensortap._hooks.modules import Handle
from tensortap._record import module_calls, unseen
from tensortap._record.model_roots import Part
from tensortap._record.recorder import Recorder
from tensortap._record.token_sites import ATTENTION, EMBEDDING, LOGITS, RESIDUAL, ROUTER, Site, TokenSites

_HEADS: Final = ("lm_head", "head", "logits", "output", "output_projection", "unembed", "embed_out", "logits_processor")
_OF_POSITIONS: Final = ("position", "wpe", "rotary", "pos_emb")


class TokenPlaces:
    """The hooks of one tap."""

    def __init__(self, recorder: Recorder, sites: TokenSites) -> None:
        self._recorder, self._sites = recorder, sites
        self._handles: list[Handle] = []

    def install(self, parts: Iterable[Part]) -> None:
        """Hook the places. A model without layers has none, which is counted."""
        all_parts = list(parts)
        found = list(places(all_parts))
        if all_parts and not found:
            self._recorder.unseen.count(unseen.TOKENS, "no list of layers in the model")
        for site, module in found:
            if self._recorder.filter.wants_module(site.path, type(module).__name__):
                after = self._recorder.guard.hook("tokens of a module", self._after, site)
                self._handles.append(module_calls.after(module, after, with_kwargs=True))

    def remove(self) -> None:
        """Leave the modules as they were."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _after(self, site: Site, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if not self._recorder.live:
            return
        tokens = _stream(args, kwargs, result) if site.place == RESIDUAL else _first(result)
        with self._recorder.lock:
            if site.place == EMBEDDING:
                self._sites.read(args[0] if args else None)
            if tokens is None:
                self._recorder.unseen.count(unseen.TOKENS, f"{site.path}: gives no tensor")
            elif tokens.dim() and tokens.is_floating_point():
                self._sites.take(site, tokens)


def places(parts: list[Part]) -> Iterator[tuple[Site, nn.Module]]:
    """Where tokens are looked at: before, in and behind the layers, which are the list of like modules with the most parameters."""
    whole = max((part for part in parts if _is_layers(part.module)), key=lambda part: _size(part.module), default=None)
    if whole is None:
        return
    count = len(list(whole.module.children()))
    for part in parts:
        name = part.path.rpartition(".")[2]
        if part.path.startswith(f"{whole.path}."):
            number, _, below = part.path[len(whole.path) + 1 :].partition(".")
            if (place := _within(part, below, parts)) and number.isdecimal():
                yield Site(int(number) + 1, place, part.path), part.module
        elif "embed" in f"{name}.{part.kind}".lower() and _is_table(part.module) and not any(word in part.path for word in _OF_POSITIONS):
            yield Site(0, EMBEDDING, part.path), part.module
        elif name in _HEADS:
            yield Site(count + 1, LOGITS, part.path), part.module


def _within(part: Part, below: str, parts: list[Part]) -> int:
    """Which place a module is within its layer; 0 for none."""
    parent, _, name = part.path.rpartition(".")
    called = f"{name}.{part.kind}".lower()
    if not below:
        return RESIDUAL
    if "." not in below and ("attn" in called or "attention" in called) and "norm" not in called:
        return ATTENTION
    beside_experts = name == "gate" and any(other.path == f"{parent}.experts" for other in parts)
    return ROUTER if name == "router" or beside_experts else 0


def _is_layers(module: nn.Module) -> bool:
    children = list(module.children())
    is_list = isinstance(module, (nn.ModuleList, nn.Sequential))
    return is_list and len({type(child) for child in children}) == 1 and any(True for _ in children[0].children())


def _is_table(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    return isinstance(weight, Tensor) and weight.dim() == 2


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _first(result: Any) -> Tensor | None:
    found = result[0] if isinstance(result, (tuple, list)) and result else getattr(result, "next_token_logits", result)  # as SGLang calls them
    return found if isinstance(found, Tensor) else None


def _stream(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Tensor | None:
    """What a layer hands on. Engines keep the residual aside, as a tensor of the same shape, which the next norm adds."""
    first = _first(result)
    aside = result[1] if isinstance(result, tuple) and len(result) == 2 else _carried(args, kwargs)
    if isinstance(aside, Tensor) and first is not None and aside.shape == first.shape:
        return first.detach() + aside.detach()
    return first


def _carried(args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """The residual that SGLang's batch carries from layer to layer, as long as the layer's own part is not added to it."""
    for given in (*args, *kwargs.values()):
        stream = getattr(given, "residual_stream", None)
        if stream is not None:
            return None if stream.pending is None else stream.residual
    return None
