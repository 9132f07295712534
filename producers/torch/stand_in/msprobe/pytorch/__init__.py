"""What programs use of msprobe.pytorch, done by tensortap."""

from __future__ import annotations

from tensortap import PrecisionDebugger, seed_all
from tensortap._session.notices import Notices

__all__ = ["PrecisionDebugger", "seed_all"]

Notices().say("msprobe in this process is tensortap, as asked with --as-msprobe")
