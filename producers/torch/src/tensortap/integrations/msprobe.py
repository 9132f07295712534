"""msProbe's class, so that changing the import is the whole migration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import nn

from tensortap._config.msprobe_file import enabled, from_msprobe, load
from tensortap._config.settings import Settings, SettingsError, changed, environment_name
from tensortap._session.notices import Notices
from tensortap._session.session import Session
from tensortap._spool.folder import SpoolError

ROUNDING = (
    "module gradients are taken as msProbe takes them, which changes the rounding of gradients; "
    "TENSORTAP_BACKWARD=light leaves them as they are, and records no gradients of module inputs"
)


class PrecisionDebugger:
    """Records as msProbe's class of this name does, into tensortap. One per process: further calls give the first.

    Raises SettingsError where it is made. Its methods raise nothing; they may be called on the class, too.
    """

    _only: ClassVar[PrecisionDebugger | None] = None
    _settings: Settings

    def __new__(cls, *args: Any, **kwargs: Any) -> PrecisionDebugger:
        """Give the one that there is."""
        return cls._only or super().__new__(cls)

    def __init__(
        self,
        config_path: str | os.PathLike[str] | None = None,
        task: str | None = None,
        dump_path: str | None = None,
        level: str | None = None,
        step: Sequence[int | str] | None = None,
    ) -> None:
        """Read the configuration; arguments win over the file."""
        if PrecisionDebugger._only is not None:
            return
        config = load(config_path) if config_path else {}
        given = {"task": task, "dump_path": dump_path, "level": level, "step": step}
        config.update({key: value for key, value in given.items() if value is not None})
        self._settings = from_msprobe(config, **_defaults(os.environ))
        self._switch = config_path if "dump_enable" in config else None
        self._session: Session | None = None
        self._failed = False  # and will not be tried again
        self._first_step = 0
        self._notices = Notices()
        PrecisionDebugger._only = self

    @classmethod
    def start(
        cls,
        model: nn.Module | Sequence[nn.Module] | None = None,
        token_range: Sequence[int] | None = None,
        rank_id: int | None = None,
        scheduled_tokens: object = None,
    ) -> None:
        """Record from here on. At levels L0 and mix the first call needs the model."""
        debugger = cls._made()
        if token_range is not None:
            debugger._notices.say("start(token_range=…) is not honoured: every forward is recorded")
        session = debugger._tap(rank_id)
        if session is None:
            return
        if not debugger._is_on():
            session.stop()
        elif debugger._settings.level == "debug":
            return
        elif model is None and not session.has_models and debugger._settings.level != "L1":
            debugger._notices.say(f"start() needs model= at level {debugger._settings.level}; nothing is recorded")
        else:
            session.start(model)

    @classmethod
    def stop(cls) -> None:
        """Record nothing until the next start."""
        if session := cls._made()._session:
            session.stop()

    @classmethod
    def step(cls) -> None:
        """The step ends."""
        if session := cls._made()._tap():
            session.step()

    @classmethod
    def save(cls, variable: object, name: str, save_backward: bool = True) -> None:
        """Record a variable under a name, and the gradients of its tensors."""
        debugger = cls._made()
        if debugger._is_on() and (session := debugger._tap()):
            session.save(variable, name, save_backward)

    @classmethod
    def set_init_step(cls, step: int) -> None:
        """Number the steps from this one on."""
        debugger = cls._made()
        debugger._first_step = step
        if debugger._session:
            debugger._session.number_from(step)

    @classmethod
    def _made(cls) -> PrecisionDebugger:
        return cls._only or cls()

    def _tap(self, rank_id: int | None = None) -> Session | None:
        """The session, made when it is first needed; None, once it was said why, where none can be."""
        if self._session is None and not self._failed:
            try:
                self._make(rank_id)
            except (SettingsError, SpoolError) as error:
                self._failed = True
                self._notices.say(f"nothing is recorded: {error}")
        return self._session

    def _make(self, rank_id: int | None) -> None:
        settings = changed(self._settings, rank=rank_id, enabled=True if self._switch else None)
        self._session = Session(settings, automatic=False)
        self._session.number_from(self._first_step)
        if settings.backward == "full":
            self._notices.say(ROUNDING)

    def _is_on(self) -> bool:
        """The switch dump_enable, which is looked at in the file where the file has it."""
        return self._settings.enabled if self._switch is None else enabled(self._switch)


def _defaults(environment: Mapping[str, str]) -> dict[str, Any]:
    """What is otherwise here than where no one migrates: gradients as msProbe takes them, and its ops and no more."""
    otherwise: dict[str, Any] = {"backward": "full", "detail_steps": 0}
    return {name: value for name, value in otherwise.items() if not environment.get(environment_name(name))}
