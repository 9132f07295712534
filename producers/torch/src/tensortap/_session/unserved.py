"""Tells a user that nobody takes what is recorded: without an agent it does not arrive, and only its end is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tensortap._spool import layout

PATIENCE: Final = 30  # signs of life, each about a second after the other: an agent may be started after the program
LEAST: Final = 10  # an agent that runs looks for new processes each second
_LAUNCHER_SERVES: Final = "TENSORTAP_SERVED"  # `tensortap run` has an agent of its own, and says itself when that ends
_MIB: Final = 1 << 20


class Unserved:
    """Counts signs of life that no agent has looked at. It counts no time: a machine that slept has missed nothing."""

    def __init__(
        self, root: Path, segments: int, say: Callable[[str], None], environment: Mapping[str, str] | None = None
    ) -> None:
        environment = os.environ if environment is None else environment
        self._root, self._say = root, say
        self._kept_mib = segments * layout.SEGMENT_ROWS * layout.RECORD_BYTES // _MIB
        self._alone = 0
        self._is_told = bool(environment.get(_LAUNCHER_SERVES))

    def beat(self, *, served: bool) -> None:
        """A sign of life is given; served says whether an agent has looked lately."""
        self._alone = 0 if served else self._alone + 1
        if self._alone >= PATIENCE:
            self._tell()

    def end(self) -> None:
        """The last sign of life was given. An agent that runs would have looked at a tap that is not quite short."""
        if self._alone >= LEAST:
            self._tell()

    def _tell(self) -> None:
        if self._is_told:
            return
        self._is_told = True
        self._say(
            f"no agent reads the spool {self._root}: what is recorded arrives nowhere yet, and of more than {self._kept_mib} MiB only the end is kept; "
            "start `tensortap up` or `tensortap agent` on this host, as this user and with that --spool, now or later"
        )
