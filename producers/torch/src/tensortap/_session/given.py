"""What a program gives to be recorded within a step: values under names, and which requests the step serves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensortap._record import unseen
from tensortap._record.guard import unintercepted
from tensortap._record.sampled_tokens import SampledTokens, count_of
from tensortap._record.served_requests import Request
from tensortap._session.recording import Process
from tensortap._session.stepping import Stepping
from tensortap._session.telling import MOST_NAME


class Given:
    """Takes it for one tap."""

    def __init__(self, steps: Stepping, counts: unseen.Unseen, explicit: Callable[[], None]) -> None:
        """Explicit is told that a value has begun a step, whose program says where steps end, too."""
        self._steps, self._unseen, self._explicit = steps, counts, explicit

    def save(self, value: object, name: str, gradient: bool, keep: bool) -> None:
        """Record a value in the step under way or a new one."""
        if self._steps.is_over:
            return
        if not self._steps.is_under_way:
            self._explicit()
            self._steps.begin()
        if process := self._recording():
            with unintercepted():
                process.saver.save(value, name, gradient, keep)

    def save_within_step(self, value: object, name: str, may_begin: bool) -> None:
        """As save, by code that need not know of the tap: where steps begin is as without it."""
        if may_begin and not self._steps.is_under_way and not self._steps.is_over:
            self._steps.begin()
        if self._steps.is_under_way:
            self.save(value, name[:MOST_NAME], True, False)
        else:
            self._unseen.count(unseen.OUTSIDE_STEP, name[:MOST_NAME])

    def serve(self, served: Sequence[Request]) -> None:
        """The step under way serves parts of these requests."""
        process = self._recording()
        if process and self._steps.is_under_way:
            with process.recorder.lock:
                process.serving.write(served)

    def tokens(self, said: SampledTokens) -> None:
        """Tokens of the step under way or, between two, the one before; of a step that is not recorded they are counted."""
        process, step = self._beside()
        if process is None:
            self._unseen.count(unseen.TOKENS, "of a step that is not recorded", count_of(said))
            return
        with unintercepted(), process.recorder.lock:
            process.tokens.take(said, step)

    def weights(self, version: int) -> None:
        """The weights are those of the trainer's update of that number, whether the step under way is recorded or not."""
        process = self._made()
        if process is not None:
            sums = process.checksums()
            with process.recorder.lock:
                process.tokens.updated(version, sums, self._step())

    def _beside(self) -> tuple[Process | None, int]:
        """What records that which may also come between steps, and the step that it is of; None where that one is not recorded."""
        return self._recording() if self._steps.is_under_way else self._made(), self._step()

    def _made(self) -> Process | None:
        """The recording of this process, whatever step is under way."""
        return None if self._steps.is_over else self._steps.recording()

    def _step(self) -> int:
        """The step under way or, between two, the one before."""
        return self._steps.number if self._steps.is_under_way else max(self._steps.number - 1, 0)

    def pad(self, rows: int, tokens: int) -> None:
        """In the step under way, tensors of so many rows hold so many tokens, and then padding."""
        if self._steps.process:
            self._steps.process.serving.pad(rows, tokens)

    def _recording(self) -> Process | None:
        """What records the step under way."""
        process = self._steps.process
        return process if process and process.is_in_step else None
