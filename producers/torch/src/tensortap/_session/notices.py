"""What a user must be told on stderr, each sentence once."""

from __future__ import annotations

import sys


class Notices:
    """Prints sentences of one process, by the rank it is found to have. Never raises: a process may have no stderr."""

    def __init__(self, rank: int = 0) -> None:
        self.rank = rank
        self._said: set[str] = set()

    def say(self, sentence: str) -> None:
        """Print the sentence, unless it was printed before."""
        self.say_once(sentence, sentence)

    def say_once(self, topic: str, sentence: str) -> None:
        """Print the sentence, unless one of its topic was printed before."""
        if topic in self._said:
            return
        self._said.add(topic)
        try:
            print(f"tensortap: rank {self.rank}: {sentence}", file=sys.stderr, flush=True)
        except (OSError, ValueError, AttributeError):
            return
