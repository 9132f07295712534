"""Where processes of this host spool. The agent has the same rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def spool_root(environment: Mapping[str, str]) -> Path:
    """The folder below which processes of this host spool, as SPOOL.md says."""
    if chosen := environment.get("TENSORTAP_SPOOL"):
        return at_home(chosen, environment)
    return Path(environment.get("TMPDIR") or lasting_folder()) / f"tensortap-{os.getuid()}"


def lasting_folder(folders: Sequence[str] = ("/var/tmp", "/tmp")) -> str:
    """The first that is there and may be written, else the last. What is in /run/user is removed as its user logs out, though processes go on."""
    return next((folder for folder in folders if os.access(folder, os.W_OK | os.X_OK)), folders[-1])


def at_home(path: str, environment: Mapping[str, str]) -> Path:
    """The path with ~/ at its beginning replaced by $HOME, which is all that the agent knows of ~."""
    home = environment.get("HOME")
    return Path(home + path[1:]) if home and (path == "~" or path.startswith("~/")) else Path(path)
