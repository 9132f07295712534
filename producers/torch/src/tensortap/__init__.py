"""tensortap's collector: what a model computes, seen from within its process without changing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensortap._record.model_roots import Models
    from tensortap._session.session import Session
    from tensortap.integrations.msprobe import PrecisionDebugger

__all__ = ["PrecisionDebugger", "tap"]


def tap(model: Models, **settings: Any) -> Session:
    """Record a model's steps into the spool: `with tensortap.tap(model, run="trial", level="L0"): train()`.

    Settings are those of docs/collector.md; what is not given comes from TENSORTAP_* variables. Raises SettingsError
    or SpoolError here, and nothing later.
    """
    from tensortap._config import settings as config
    from tensortap._session import session

    return session.Session(config.settings(**settings), model)


def __getattr__(name: str) -> Any:
    if name == "PrecisionDebugger":
        from tensortap.integrations.msprobe import PrecisionDebugger

        return PrecisionDebugger
    raise AttributeError(f"module tensortap has no attribute {name}")
