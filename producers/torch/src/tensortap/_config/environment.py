"""What is to be recorded in a program that does not say so itself."""

from __future__ import annotations

import os

from tensortap._config.msprobe_file import from_msprobe, load
from tensortap._config.settings import Settings, settings


def wanted() -> Settings:
    """The settings that TENSORTAP_* variables give, or msProbe's file that one of them names.

    Raises SettingsError.
    """
    path = os.environ.get("TENSORTAP_MSPROBE_CONFIG")
    return from_msprobe(load(path)) if path else settings()
