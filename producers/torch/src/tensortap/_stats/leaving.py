"""What a child that was forked must not free: it is its parent's."""

from __future__ import annotations

import ctypes


def leave(*held: object) -> None:
    """Never free these in this process. Of a device's events and pinned memory PyTorch would ask the driver, which no child may, and end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
