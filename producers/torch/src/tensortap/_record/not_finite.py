"""The one exception of ours that may reach a model: its user asked for it."""

from __future__ import annotations


class NotFinite(FloatingPointError):
    """An op made a value that is not finite of values that are. Raised in the op, where `on_nan` has `raise`, and nowhere else."""
