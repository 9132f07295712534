"""What is another at each launch of the same program: two runs that differ in it alone are no different."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = re.compile(
    r"(^|_)("
    r"ports?|addr(ess(es)?)?|host(s|id|name|names)?|ip|ipc_name|endpoints?|socket_(path|file|name)|"  # where a process listens, or whom it calls
    r"pids?|fds?|"  # of the system
    r"shm_(name|id|path)|"  # shared memory
    r"tmp|tmpdir|tempdir|"  # temporary folders
    r"ident|uuid|(run|rdzv|instance|session|launch|job)_id"  # names that are made for one launch
    r")(_|$)"
)
# Of a value the part that is random, whatever the value is called.
_VALUES: Final = re.compile(
    r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # UUID
    r"|(?<![^/:=])tmp([a-z0-9_]{8}|\.[A-Za-z0-9]{6,})(?![^/])"  # as tempfile and mktemp name folders and files
    r"|\bpsm_[0-9a-f]{8}\b"  # shared memory of multiprocessing
    r"|(?<=^ipc://).+|(?<=^unix://).+"  # sockets that are files
)
_ADDRESS: Final = re.compile(r"(://[^/\s:]*|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}):[0-9]{2,5}(?![0-9])")  # with a port, which is free by chance


def names(name: str) -> bool:
    """Whether what has this name, of a variable, a flag or an argument, is of one launch."""
    return _NAMES.search(name.lower().strip("-").replace("-", "_")) is not None


def blanked(value: str) -> str:
    """The value without what is random in it."""
    return _VALUES.sub("…", _ADDRESS.sub(r"\1:…", value))
