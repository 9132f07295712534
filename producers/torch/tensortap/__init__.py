"""tensortap's collector: what a model computes, seen from within its process without changing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensortap.debugger import PrecisionDebugger
    from tensortap.roots import Models
    from tensortap.session import Session

__all__ = ["PrecisionDebugger", "tap"]


def tap(model: Models, **settings: Any) -> Session:
    """Record a model's steps into the spool: `with tensortap.tap(model, run="trial", level="L0"): train()`.

    Settings are those of docs/collector.md; what is not given comes from TENSORTAP_* variables. Raises SettingsError
    or SpoolError here, and nothing later.
    """
    from tensortap import config, session

    return session.Session(config.settings(**settings), model)


def __getattr__(name: str) -> Any:
    if name == "PrecisionDebugger":
        from tensortap.debugger import PrecisionDebugger

        return PrecisionDebugger
    raise AttributeError(f"module tensortap has no attribute {name}")
