"""Calls of modules, of which nothing is on the modules themselves: they are copied, pickled, scripted and asked for hooks as without us.

A hook is called as PyTorch calls those that are registered on a module: before a call behind those of the program, after it
too, and in the order in which they were registered. What is done for one call of all modules is in `heard_calls`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from weakref import ref

from torch import nn

from tensortap._record.heard_calls import hear_calls
from tensortap._torch_compat import left_to_python

_METHOD: Final = "_call_impl"  # of torch's modules, by which they are called

Hook = Callable[..., Any]


class Registered(NamedTuple):
    """A hook; whether it is given the arguments by name, and called where the module raised."""

    hook: Hook
    with_kwargs: bool
    always: bool


class Handle:
    """A registration."""

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo = undo

    def remove(self) -> None:
        """Undo it."""
        self._undo()


class _Site:
    """The hooks of one module."""

    __slots__ = ("__weakref__", "afters", "befores", "module")

    def __init__(self, module: ref[nn.Module]) -> None:
        self.module = module
        self.befores: tuple[Registered, ...] = ()
        self.afters: tuple[Registered, ...] = ()

    @left_to_python
    def enter(self, module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        """The module is called."""
        if not self.befores:
            return functools.partial(_leave, self, module, args, kwargs)
        if module._forward_pre_hooks:
            return _BehindTheirs(self, module).leave
        changed = self.before(module, args, kwargs)
        if changed is None:
            return functools.partial(_leave, self, module, args, kwargs) if self.afters else None
        args, kwargs = changed
        return functools.partial(_leave, self, module, args, kwargs), (module, *args), kwargs

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Call the hooks. The arguments, where one has changed them."""
        made = None
        for hook, with_kwargs, _ in self.befores:
            changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
            if changed is not None:
                args, kwargs = made = changed
        return made

    def after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, raised: bool) -> Any:
        """Call the hooks. The result, where one has changed it."""
        made = None
        for hook, with_kwargs, always in self.afters:
            if raised and not always:
                continue
            changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            if changed is not None:
                result = made = changed
        return made


class _BehindTheirs:
    """A call of a module that has hooks of the program, which may change what it is given: ours is among them until it is called."""

    def __init__(self, site: _Site, module: nn.Module) -> None:
        self._site, self._module = site, module
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._key = object()
        self._thread = threading.get_ident()
        self._hooks = vars(module)["_forward_pre_hooks"]
        self._with_kwargs = vars(module)["_forward_pre_hooks_with_kwargs"]
        self._hooks[self._key], self._with_kwargs[self._key] = self._called, True

    @left_to_python
    def leave(self, *returned: Any) -> Any:
        """The call is over."""
        self._take_off()
        return _leave(self._site, self._module, self._args, self._kwargs, *returned)

    @left_to_python
    def _called(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        if kwargs is None or self._thread != threading.get_ident():  # another call of the module met this one's hook, or has taken it off
            return None
        self._take_off()
        changed = self._site.before(module, args, kwargs)
        self._args, self._kwargs = changed or (args, kwargs)
        return changed

    def _take_off(self) -> None:
        self._hooks.pop(self._key, None)
        self._with_kwargs.pop(self._key, None)


@left_to_python
def _leave(site: _Site, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *returned: Any) -> Any:
    return site.after(module, args, kwargs, returned[0] if returned else None, not returned)


class _Calls:
    """Of all modules of the process."""

    def __init__(self) -> None:
        self._sites: dict[int, _Site] = {}
        self._registry: dict[int, Any] = {}  # what enters a call; None where nobody wants to meet the module again
        self._known: dict[int, ref[nn.Module]] = {}
        self._meets: tuple[Callable[[nn.Module], bool], ...] = ()
        self._lock = threading.RLock()
        self._undo: Callable[[], None] | None = None

    def register(self, module: nn.Module, place: str, hook: Registered, *, first: bool) -> Handle:
        with self._lock:
            site = self._site(module)
            hooks = getattr(site, place)
            setattr(site, place, (hook, *hooks) if first else (*hooks, hook))
            self._registry[id(module)] = site.enter
            self._hear()
        return Handle(functools.partial(self._remove, ref(site), place, hook))

    def meet(self, met: Callable[[nn.Module], bool]) -> Handle:
        with self._lock:
            self._meets = (*self._meets, met)
            for key in [key for key, enters in self._registry.items() if enters is None]:
                del self._registry[key]
            self._hear(again=True)
        return Handle(functools.partial(self._meet_no_more, met))

    def has(self, module: nn.Module, hook: Hook) -> bool:
        site = self._sites.get(id(module))
        return site is not None and any(one.hook == hook for one in (*site.befores, *site.afters))

    @contextmanager
    def without(self, modules: Iterable[nn.Module]) -> Iterator[None]:
        keys = [id(module) for module in modules]
        was = {key: self._registry[key] for key in keys if key in self._registry}
        self._registry.update(dict.fromkeys(keys))
        try:
            yield
        finally:
            for key in keys:
                if self._registry.get(key) is None:  # else it is registered anew
                    self._registry.pop(key, None)
            self._registry.update({key: self._sites[key].enter if key in self._sites else enters for key, enters in was.items()})

    def _site(self, module: nn.Module) -> _Site:
        key = id(module)
        site = self._sites.get(key)
        if site is None or site.module() is not module:
            site = self._sites[key] = _Site(self._know(module))
        return site

    def _know(self, module: nn.Module) -> ref[nn.Module]:
        key = id(module)
        known = self._known.get(key)
        if known is None or known() is not module:
            known = self._known[key] = ref(module, functools.partial(self._forget, key))
        return known

    def _forget(self, key: int, dead: ref[nn.Module]) -> None:
        if self._known.get(key) is dead:
            for of in (self._known, self._sites, self._registry):
                of.pop(key, None)

    @left_to_python
    def _met(self, module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        """A module is called that nobody knows; who meets it may register hooks, of which those after the call are called."""
        done = [met(module) for met in self._meets]
        with self._lock:
            if all(done) and id(module) not in self._registry:
                self._know(module)
                self._registry[id(module)] = None
        return functools.partial(_leave_met, self._sites, module, args, kwargs)

    def _remove(self, held: ref[_Site], place: str, hook: Registered) -> None:
        site = held()
        module = site.module() if site else None
        if site is None or module is None:
            return
        with self._lock:
            hooks = list(getattr(site, place))
            if hook in hooks:
                hooks.remove(hook)
            setattr(site, place, tuple(hooks))
            if not (site.befores or site.afters) and self._sites.get(id(module)) is site:
                del self._sites[id(module)]
                self._registry[id(module)] = None
            self._rest()

    def _meet_no_more(self, met: Callable[[nn.Module], bool]) -> None:
        with self._lock:
            self._meets = tuple(one for one in self._meets if one != met)
            self._hear(again=True)
            self._rest()

    def _hear(self, again: bool = False) -> None:
        if again and self._undo:
            self._undo()
            self._undo = None
        if self._undo is None:
            self._undo = hear_calls(nn.Module, _METHOD, self._registry, self._met if self._meets else None)

    def _rest(self) -> None:
        """Nobody wants to hear of anything any more, maybe."""
        if not self._sites and not self._meets:
            if self._undo:
                self._undo()
                self._undo = None
            self._registry.clear()
            self._known.clear()


@left_to_python
def _leave_met(sites: dict[int, _Site], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *returned: Any) -> Any:
    site = sites.get(id(module))
    return _leave(site, module, args, kwargs, *returned) if site and site.module() is module else None


_calls: Final = _Calls()


def before(module: nn.Module, hook: Hook, *, with_kwargs: bool = False, first: bool = False) -> Handle:
    """Call the hook before each call of the module: with it and its arguments, of which it may return others."""
    return _calls.register(module, "befores", Registered(hook, with_kwargs, always=False), first=first)


def after(module: nn.Module, hook: Hook, *, with_kwargs: bool = False, always: bool = False) -> Handle:
    """Call the hook after each call of the module, with its arguments and result; with always, and None, while what it raised is handled."""
    return _calls.register(module, "afters", Registered(hook, with_kwargs, always), first=False)


def meet(met: Callable[[nn.Module], bool]) -> Handle:
    """Hear of each module at its first call; it returns whether it is done with it."""
    return _calls.meet(met)


def has(module: nn.Module, hook: Hook) -> bool:
    """Whether that hook is called with the module."""
    return _calls.has(module, hook)


def without(modules: Iterable[nn.Module]) -> Any:
    """No hook of these modules is called meanwhile."""
    return _calls.without(modules)
