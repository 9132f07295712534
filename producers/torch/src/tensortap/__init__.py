"""tensortap's collector: what a model computes, seen from within its process without changing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensortap.api import __version__, note, save, tap, timer

if TYPE_CHECKING:
    from tensortap import huggingface as huggingface
    from tensortap import lightning as lightning
    from tensortap.api import NotFinite, PrecisionDebugger, SampledTokens, ServedTokens, Session, Settings, SettingsError, SpoolError, TapSettings, seed_all
else:
    from tensortap.api import __getattr__  # imports the other names of __all__ at their first use

__all__ = [
    "NotFinite",
    "PrecisionDebugger",
    "SampledTokens",
    "ServedTokens",
    "Session",
    "Settings",
    "SettingsError",
    "SpoolError",
    "TapSettings",
    "__version__",
    "note",
    "save",
    "seed_all",
    "tap",
    "timer",
]
