"""Whether the C kernel was built into this installation, told before PyTorch is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Final

KERNEL: Final = Path(__file__).with_name("statistics.so")


def say_what_is_missing() -> None:
    """One line of log where there is no kernel. No warning, which `-W error` would raise into the program."""
    if not KERNEL.exists():
        import logging

        logging.getLogger("tensortap").warning(
            "tensortap was built without its C kernel: PyTorch computes the statistics, slower. Install a wheel for this platform, or build with a C compiler."
        )
