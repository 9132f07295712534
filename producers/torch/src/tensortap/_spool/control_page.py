"""The part of the spool's header through which the agent asks and the process answers, as SPOOL.md says."""

from __future__ import annotations

from typing import Final

from tensortap._spool import layout
from tensortap._spool.definitions import crc32c
from tensortap._spool.segments import Segment

_SEQUENCE: Final = layout.ASKED_SEQUENCE >> 2
_POKE: Final = layout.ASKED_POKE >> 2
_POKED: Final = layout.ANSWERED_POKED >> 2


class ControlPage:
    """Each word of it has one writer. What is read may be half written: its checksum tells."""

    def __init__(self, header: Segment) -> None:
        self._header = header

    def sequence(self) -> int:
        """The number of the newest request; 0 when there was none yet."""
        return self._header.words[_SEQUENCE]

    def request(self) -> tuple[int, bytes] | None:
        """The newest request with its number; None while it is being written."""
        words, page = self._header.words, self._header.bytes
        sequence, length = words[_SEQUENCE], words[layout.ASKED_LENGTH >> 2]
        text = bytes(page[layout.ASKED_TEXT : layout.ASKED_TEXT + min(length, layout.CONTROL_BYTES)])
        whole = len(text) == length and crc32c(text) == words[layout.ASKED_CHECKSUM >> 2]
        return (sequence, text) if whole and sequence == words[_SEQUENCE] else None

    def answer(self, sequence: int, outcome: int, step: int, text: str = "") -> None:
        """Say what becomes of a request; one thread at a time. While it is written it is the answer to none."""
        words, encoded = self._header.words, text.encode(errors="replace")[: layout.ANSWER_BYTES]  # a request may hold half a surrogate
        words[layout.ANSWERED_SEQUENCE >> 2] = 0
        self._header.bytes[layout.ANSWERED_TEXT : layout.ANSWERED_TEXT + len(encoded)] = encoded
        words[layout.ANSWERED_LENGTH >> 2] = len(encoded)
        words[layout.ANSWERED_OUTCOME >> 2], words[layout.ANSWERED_STEP >> 2] = outcome, step
        words[layout.ANSWERED_SEQUENCE >> 2] = sequence

    def poke(self) -> int:
        """The newest poke that was not answered; 0 when there is none."""
        poke = self._header.words[_POKE]
        return poke if poke != self._header.words[_POKED] else 0

    def poked(self, poke: int) -> None:
        """A poke is answered."""
        self._header.words[_POKED] = poke
