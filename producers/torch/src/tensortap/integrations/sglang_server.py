"""SGLang's server: the requests of its own warm-up are named, so that the processes of the model know them.

Nothing else tells them from those of clients there. A client that asks before the server says that it is up counts as warm-up, too.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

WARM_UP: Final = "WARM_UP_tensortap_"
_STARTING: Final = "Starting"
_MARK: Final = "_tensortap"


class WarmUp:
    """Whether a server of this process warms itself up."""

    def __init__(self) -> None:
        self._under_way = 0

    @contextmanager
    def _meanwhile(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def during(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with requests named while it runs."""

        @functools.wraps(original)
        def warms_up(*args: Any, **kwargs: Any) -> Any:
            with self._meanwhile():
                return original(*args, **kwargs)

        return warms_up

    def during_each(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Likewise for one that is awaited."""

        @functools.wraps(original)
        async def warms_up(*args: Any, **kwargs: Any) -> Any:
            with self._meanwhile():
                return await original(*args, **kwargs)

        return warms_up

    def naming(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """What takes requests, with the names given before."""

        @functools.wraps(original)
        def generate_request(manager: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
            if self._under_way and _is_starting(manager) and getattr(obj, "rid", "") is None:
                obj.rid = WARM_UP + uuid.uuid4().hex
            return original(manager, obj, *args, **kwargs)

        return generate_request


def _is_starting(manager: Any) -> bool:
    return getattr(getattr(manager, "server_status", None), "value", "") == _STARTING


def attach(module: ModuleType) -> None:
    """Called once sglang.srt.entrypoints.http_server was imported."""
    manager: Any = module.TokenizerManager
    if hasattr(manager.generate_request, _MARK):
        return
    warm_up = WarmUp()
    manager.generate_request = warm_up.naming(manager.generate_request)
    setattr(manager.generate_request, _MARK, True)
    module.__dict__["_wait_and_warmup"] = warm_up.during(module._wait_and_warmup)
    module.__dict__["execute_warmups"] = warm_up.during_each(module.execute_warmups)
