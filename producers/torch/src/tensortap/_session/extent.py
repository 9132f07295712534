"""How much is recorded of a step: what the settings say, or the detail that is asked for, or that a bad value brings."""

from __future__ import annotations

from collections.abc import Callable

from tensortap._config.settings import Settings
from tensortap._record.recorder import Recorder
from tensortap._session.control import OVERFLOWED, Detail, together
from tensortap._session.hooks import Hooks
from tensortap._session.raw_tensors import RawTensors


class Extent:
    """That of one process. The one place where it changes."""

    def __init__(self, settings: Settings, recorder: Recorder, hooks: Hooks, raw: RawTensors, say: Callable[[str], None]) -> None:
        self._settings, self._recorder, self._hooks, self._raw, self._say = settings, recorder, hooks, raw, say
        self._now: tuple[Detail | None, bool] = (None, True)
        self._left = settings.detail_steps  # that are recorded in detail after a bad value

    def after_overflow(self, step: int) -> Detail | None:
        """The detail of this step, where it is one of the first after a value that is not finite."""
        settings = self._settings
        if not self._recorder.observer.overflowed or not self._left or settings.level == "debug":
            return None
        if self._left == settings.detail_steps:
            self._say(f"a value was not finite: {settings.detail_steps} steps from {step} on are recorded at level mix, with sketch and digest")
        self._left -= 1
        return OVERFLOWED

    def is_now(self, detail: Detail | None, wanted: bool) -> bool:
        """Whether steps are recorded so already. A detail that is asked for again is another, and keeps anew."""
        return detail is self._now[0] and wanted == self._now[1]

    def become(self, detail: Detail | None, wanted: bool) -> None:
        """Record so from here on, with the detail, and with what the settings say if it is wanted; between steps, when no hook is in place."""
        self._now = detail, wanted
        settings, recorder = self._settings, self._recorder
        recorder.widen(detail.scope if detail else (), settings.level if wanted else None)
        level = together(settings.level, detail.level) if detail else settings.level
        self._hooks.observe_at(level, bool(detail) or settings.calls == "each")
        recorder.measure_with(bool(detail) or settings.sketch, bool(detail) or settings.digest)
        self._raw.keep_as(detail, wanted)
