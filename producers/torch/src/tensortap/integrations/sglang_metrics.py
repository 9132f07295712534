"""SGLang's forward-pass metrics: what its scheduler publishes of each iteration is noted, whoever listens to it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from tensortap._record.user_events import note

_MARK: Final = "_tensortap"
_OWN: Final = frozenset(("version", "worker_id", "counter_id"))  # of the message; the last is set as it is sent
PREFIX: Final = "forward_pass."


def attach(module: ModuleType) -> None:
    """Called once sglang.srt.observability.forward_pass_metrics was imported: nothing is made there unless SGLang is asked to."""
    publisher = module._FpmPublisherThread
    original = publisher.publish
    if getattr(original, _MARK, False):
        return

    @functools.wraps(original)
    def publish(self: Any, metrics: Any) -> Any:
        fields = {PREFIX + name: value for name, value in _numbers(metrics) if name not in _OWN}
        if fields:
            note(**fields)
        return original(self, metrics)

    setattr(publish, _MARK, True)
    publisher.publish = publish


def _numbers(metrics: Any) -> Iterator[tuple[str, object]]:
    """Those of a message, and of its parts as part.name, whatever this release of SGLang has in them."""
    for name in getattr(metrics, "__struct_fields__", ()):
        value = getattr(metrics, name, None)
        if hasattr(value, "__struct_fields__"):
            yield from ((f"{name}.{inner}", number) for inner, number in _numbers(value))
        else:
            yield name, value
