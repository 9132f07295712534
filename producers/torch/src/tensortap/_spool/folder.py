"""The folder of spools: made for this user alone, and refused where another user could change what is in it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_AGENTS_ROOM: Final = {"cuts": 512 << 10, "cuts-other": 512 << 10, "position": 12}  # as the agent would take it
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class SpoolError(OSError):
    """The spool cannot be made; raised where a tap is made, never inside a step."""


def make_root(root: Path) -> None:
    """Make the folder unless it is there. Raises a SpoolError that says what is wrong with it, and what to do."""
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        fault = _fault(os.lstat(root))
    except OSError as error:
        raise SpoolError(f"make the folder of spools {root}: {error}; set TENSORTAP_SPOOL to another") from error
    if fault:
        raise SpoolError(f"the folder of spools {root} {fault}, or set TENSORTAP_SPOOL to another")


def fault_of_kept(root: Path) -> str:
    """Make the folder of raw tensors unless it is there. Says what lets another user change what is in it; empty when nothing does. Raises OSError.

    A link to a disk with room is followed.
    """
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    fault = _fault(os.stat(root))
    return fault and f"the folder {fault}, or name another by payload_folder"


def take_agents_room(folder: Path) -> None:
    """Take the room that the agent needs to publish the rest, and so to free the disk, once the disk is full."""
    with suppress(OSError):  # on a disk that is full by now, no row finds room either
        for name, size in _AGENTS_ROOM.items():
            file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(file, 0, size)
            finally:
                os.close(file)


def _fault(found: os.stat_result) -> str:
    """What lets another user change what is in a folder, and what to do about it; empty when nothing does."""
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link: name the folder that it stands for, remove it"
    if found.st_uid != os.geteuid():
        return f"belongs to user {found.st_uid} and not to this one, {os.geteuid()}: run this as that user, remove it"
    if found.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        return f"may be written by other users (mode {mode:04o}): chmod go-w it if all in it is yours, remove it"
    return ""
