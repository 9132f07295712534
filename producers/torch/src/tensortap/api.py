"""What `import tensortap` gives. It is written for start-up time: what takes PyTorch to import comes with its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tensortap._record.user_events import note, save, timer
from tensortap._stats import built

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tensortap._config.settings import Settings, SettingsError
    from tensortap._config.tap_settings import TapSettings
    from tensortap._record.model_roots import Models
    from tensortap._record.not_finite import NotFinite
    from tensortap._record.sampled_tokens import SampledTokens
    from tensortap._record.token_sites import ServedTokens
    from tensortap._session.session import Session
    from tensortap._spool.folder import SpoolError
    from tensortap.integrations.msprobe import PrecisionDebugger
    from tensortap.integrations.seeds import seed_all

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

__version__: Final = "0.1.0"

built.say_what_is_missing()


def tap(model: Models, **settings: Unpack[TapSettings]) -> Session:
    """Record a model's steps into the spool: `with tensortap.tap(model, run="trial", level="L0"): train()`.

    Takes a module, or a list of them, and the settings that `tensortap.TapSettings` documents. Returns the tap, which is armed: it
    records until it is closed, at the end of `with` or of the program. Raises SettingsError or SpoolError here, and nothing later.
    """
    from tensortap._config.settings import settings as read
    from tensortap._session.session import Session

    return Session(read(**settings), model)


if not TYPE_CHECKING:
    _PLACES: Final = {
        "NotFinite": "tensortap._record.not_finite",
        "PrecisionDebugger": "tensortap.integrations.msprobe",
        "SampledTokens": "tensortap._record.sampled_tokens",
        "ServedTokens": "tensortap._record.token_sites",
        "Session": "tensortap._session.session",
        "Settings": "tensortap._config.settings",
        "SettingsError": "tensortap._config.settings",
        "SpoolError": "tensortap._spool.folder",
        "TapSettings": "tensortap._config.tap_settings",
        "seed_all": "tensortap.integrations.seeds",
    }

    _TRAINERS: Final = ("huggingface", "lightning")  # whose packages need not be there

    def __getattr__(name: str) -> Any:
        """Import what is asked for. Type checkers have all names from above, and so find those that are misspelt."""
        from importlib import import_module

        if name in _TRAINERS:
            return import_module(f"tensortap.{name}")
        if name not in _PLACES:
            raise AttributeError(f"module tensortap has no attribute {name}")
        return getattr(import_module(_PLACES[name]), name)
