"""Settings of a tap: one frozen dataclass, from keyword arguments and from TENSORTAP_* variables."""

from __future__ import annotations

import difflib
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

from tensortap._config import api_list, budget_text, debug_switches, shape_switches, values
from tensortap._config.conditions import When, standing
from tensortap._config.spool_root import spool_root
from tensortap._config.step_ranges import Steps, parse_steps
from tensortap._config.values import nearest

Level = Literal["L0", "L1", "mix", "aten", "debug", "tokens"]
Direction = Literal["forward", "backward", "both"]
Task = Literal["statistics", "structure", "md5", "tensor"]
FileFormat = Literal["safetensors", "npy", "pt"]
Backward = Literal["light", "full"]
Values = Literal["input", "output", "both"]
Calls = Literal["counted", "each"]
Risk = Literal["CORE", "FOCUS", "ALL"]
Signal = Literal["none", "USR1", "USR2"]

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "level": ("L0", "L1", "mix", "aten", "debug", "tokens"),
    "calls": ("counted", "each"),
    "direction": ("forward", "backward", "both"),
    "values": ("input", "output", "both"),
    "task": ("statistics", "structure", "md5", "tensor"),
    "file_format": ("safetensors", "npy", "pt"),
    "backward": ("light", "full"),
    "risk": ("CORE", "FOCUS", "ALL"),
    "signal": ("none", "USR1", "USR2"),
}
ON_NAN: Final = ("record", "keep", "stop", "raise")
ON_NAN_BYTES: Final = 1 << 28
LONGEST_RUN_NAME: Final = 200
_ENVIRONMENT_NAMES: Final = {"first_n_per_site": "FIRST_N", "segments": "SPOOL_SEGMENTS"}


class SettingsError(ValueError):
    """A setting that cannot be honoured; raised where a tap is made, never inside a step."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one tap records. docs/collector.md says what each setting means."""

    run: str
    level: Level = "L0"
    calls: Calls = "counted"  # of level aten: equal ones as one, or each with its statistics
    budget: float | None = None  # the share of the program's time that the tap may take
    payload_bytes: int | None = None  # the bytes of raw tensors that a rank may keep, which is a budget, too
    payload_host_bytes: int | None = None  # likewise, of all ranks that write into one folder
    payload_folder: Path | None = None  # of raw tensors; None: beside the spools
    file_format: FileFormat = "safetensors"  # of raw tensors
    steps: Steps = Steps()
    ranks: Steps = Steps()
    when: When | None = None  # of the steps, only those that fulfil these conditions
    rank: int | None = None  # of this process, where neither torch nor the launcher says it
    world_size: int | None = None  # of the run, where rank is given; None: not known
    appends: bool = False  # nobody names its steps: those of a later start go on behind them
    replica: tuple[int, int] | None = None  # its place among copies of the model that serve apart, of which torch knows nothing, and how many there are; -1: not known
    scope: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # msProbe's list: parts of op names
    apis: api_list.ApiList | None = None  # a file that lists the APIs that are recorded
    between: tuple[str, str] | None = None  # msProbe's scope: first and last op, by name
    values: Values = "both"
    risk: Risk = "ALL"
    direction: Direction = "both"
    first_n_per_site: int | None = None
    task: Task = "statistics"
    sketch: bool = False
    digest: bool = False
    backward: Backward = "light"
    detail_steps: int = 2  # after the first value that is not finite
    signal: Signal = "none"  # that asks for detail
    on_nan: tuple[str, ...] = ()  # of ON_NAN, beside what is recorded in any case
    on_nan_bytes: int = ON_NAN_BYTES  # of tensors that a step is held for
    spool: Path = field(default_factory=lambda: spool_root(os.environ))
    segments: int = 64
    memory: bool = False
    stacks: bool = True
    logging: bool = True  # records of Python's logging
    labels: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0  # 0: as many as torch uses
    enabled: bool = True
    debug: Steps = Steps(())  # ranks that wait for a debugger
    debug_port: int = 5678  # of rank 0
    debug_wait: float = 600.0  # seconds
    post_mortem: bool = False
    shape_log: shape_switches.Asked | None = None  # of SGLang's profiler, by its switches
    program: Mapping[str, object] = field(default_factory=dict)  # what it says of itself, as an engine its arguments
    differences: tuple[str, ...] = ()  # what was asked for and is done otherwise, a sentence each

    def __post_init__(self) -> None:
        if not 1 <= len(self.run) <= LONGEST_RUN_NAME:
            raise SettingsError(f"setting run: a name has 1 to {LONGEST_RUN_NAME} characters, this one {len(self.run)}")
        for name, choices in CHOICES.items():
            _check_choice(name, getattr(self, name), choices)
        _check_least("segments", self.segments, 2)
        _check_least("rank", self.rank, 0)
        _check_least("threads", self.threads, 0)
        _check_least("detail_steps", self.detail_steps, 0)
        _check_least("first_n_per_site", self.first_n_per_site, 1)
        _check_least("on_nan_bytes", self.on_nan_bytes, 0)
        _check_level(self)
        _check_on_nan(self)
        _check_debug(self)

    @property
    def kept_in(self) -> Path:
        """The folder of raw tensors."""
        return self.payload_folder or self.spool / "payloads"


def settings(*, environment: Mapping[str, str] | None = None, **given: object) -> Settings:
    """Make settings from keyword arguments; what is not given comes from TENSORTAP_* variables, else is the default.

    Raises SettingsError that names the setting and what it may be.
    """
    environment = os.environ if environment is None else environment
    asked = dict(from_environment(environment))
    asked.update({name: _read(name, value) for name, value in given.items() if value is not None})
    asked.setdefault("spool", spool_root(environment))
    asked |= _shape_log(environment, asked) | _budgets(asked)
    asked |= debug_switches.asked(environment, asked)
    if "run" not in asked:
        asked["run"] = default_run_name(environment)
    return Settings(**cast(Any, asked))


def changed(base: Settings, **given: object) -> Settings:
    """The same settings but for those given; None leaves a setting as it is."""
    asked = {name: _read(name, value) for name, value in given.items() if value is not None}
    return replace(base, **cast(Any, asked | _budgets(asked)))


def _budgets(asked: Mapping[str, object]) -> dict[str, object]:
    """What a budget says of the time, and of raw tensors."""
    given = asked.get("budget")
    if not isinstance(given, budget_text.Budgets):
        return {}
    return {"budget": given.share, "payload_bytes": given.payload_bytes, "payload_host_bytes": given.payload_host_bytes}


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """The settings that variables give. A variable whose name is nearly that of a setting is an error."""
    known = {environment_name(name): name for name in SETTINGS}
    for variable in environment:
        if variable.startswith("TENSORTAP_") and variable not in known:
            _check_misspelt(variable, known)
    return {
        name: _read(name, environment[variable], variable)
        for variable, name in known.items()
        if environment.get(variable, "") != ""
    }


def environment_name(setting: str) -> str:
    """The variable that gives a setting, as TENSORTAP_SPOOL_SEGMENTS for segments."""
    return "TENSORTAP_" + _ENVIRONMENT_NAMES.get(setting, setting.upper())


def default_run_name(environment: Mapping[str, str]) -> str:
    """A name for a run that was given none; ranks of one run must agree on it, so it needs an id that they share."""
    script = Path(sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python").stem
    for variable in ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"):
        shared = environment.get(variable, "")
        if shared not in ("", "none"):
            return f"{script}-{shared}"[:LONGEST_RUN_NAME]
    if int(environment.get("WORLD_SIZE", "1") or "1") > 1:
        raise SettingsError("setting run: the ranks of a run need one name; give run=, or set TENSORTAP_RUN for all of them")
    return f"{script}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"[:LONGEST_RUN_NAME]


def _shape_log(environment: Mapping[str, str], asked: Mapping[str, object]) -> dict[str, object]:
    """What the switches of SGLang's shape profiler ask for: its log, and the level that it is written at."""
    try:
        log = shape_switches.asked(environment)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    if log is None:
        return {}
    level = asked.get("level", "aten")
    if level == "aten" and asked.get("calls", "counted") == "counted":
        return {"level": level, "shape_log": log}
    return {"differences": ("SGLANG_PROFILE_SHAPES: a log of shapes is written at level aten with calls=counted only",)}


def _read(name: str, value: object, shown: str = "") -> object:
    if name not in SETTINGS:
        raise SettingsError(f"unknown setting {name}: {nearest(name, SETTINGS)}")
    try:
        return SETTINGS[name](value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"setting {shown or name}: {error}") from error


def _on_nan(value: object) -> tuple[str, ...]:
    asked = values.texts(value)
    if wrong := [name for name in asked if name not in ON_NAN]:
        raise ValueError(f"{wrong[0]!r} is unknown; {nearest(wrong[0], ON_NAN)}")
    return tuple(name for name in ON_NAN[1:] if name in asked)


def _apis(value: object) -> api_list.ApiList:
    return api_list.read(values.path(value))


SETTINGS: Final[Mapping[str, Callable[[object], object]]] = {
    "run": values.text,
    "level": values.text,
    "calls": values.text,
    "budget": budget_text.parse,
    "payload_folder": values.path,
    "file_format": values.text,
    "steps": parse_steps,
    "ranks": parse_steps,
    "when": standing,
    "rank": values.number,
    "scope": values.texts,
    "ops": values.texts,
    "names": values.texts,
    "apis": _apis,
    "between": values.pair,
    "risk": values.text,
    "direction": values.text,
    "values": values.text,
    "first_n_per_site": values.number,
    "task": values.text,
    "sketch": values.yes,
    "digest": values.yes,
    "backward": values.text,
    "detail_steps": values.number,
    "signal": values.text,
    "on_nan": _on_nan,
    "on_nan_bytes": values.number,
    "spool": values.path,
    "segments": values.number,
    "memory": values.yes,
    "stacks": values.yes,
    "logging": values.yes,
    "labels": values.labels,
    "threads": values.number,
    "enabled": values.yes,
    "debug": parse_steps,
    "debug_port": values.number,
    "debug_wait": values.seconds,
    "post_mortem": values.yes,
}


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"setting {name}: {value!r} is unknown; {nearest(value, choices)}")


def _check_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise SettingsError(f"setting {name}: {value} is less than {least}")


def _check_level(asked: Settings) -> None:
    if asked.budget and asked.level == "aten":
        raise SettingsError("setting budget: the time of level aten is not taken; take another level, or steps")
    if asked.ops and asked.level == "L0":
        raise SettingsError("setting ops: level L0 records modules, no ops; take level L1 or mix, or scope")
    if asked.between and (asked.level, asked.calls) == ("aten", "counted"):
        raise SettingsError("setting between: where calls are counted none is first or last; take calls=each, or scope")
    if asked.scope and asked.level == "L1":
        raise SettingsError("setting scope: level L1 knows no modules; take level L0 or mix, or ops")


def _check_on_nan(asked: Settings) -> None:
    if asked.on_nan and (asked.task == "structure" or asked.level in ("aten", "debug", "tokens")):
        what = "task structure" if asked.task == "structure" else f"level {asked.level}"
        raise SettingsError(f"setting on_nan: {what} measures no ops of modules or APIs; take level L0, L1 or mix with another task")
    if "stop" in asked.on_nan and str(asked.ranks) != "all":
        raise SettingsError("setting on_nan: stop ends all ranks, and one that is not recorded hears nothing of it; leave out ranks")


def _check_debug(asked: Settings) -> None:
    if not 1 <= asked.debug_port < 1 << 16:
        raise SettingsError(f"setting debug_port: {asked.debug_port} is no port; give 1 to 65535")
    if not 0 <= asked.debug_wait < float("inf"):
        raise SettingsError(f"setting debug_wait: {asked.debug_wait} is no time to wait; give seconds, 0 for none")


def _check_misspelt(variable: str, known: Mapping[str, str]) -> None:
    endings = {name.removeprefix("TENSORTAP_"): name for name in known}
    if found := difflib.get_close_matches(variable.removeprefix("TENSORTAP_"), endings, n=1, cutoff=0.8):
        raise SettingsError(f"unknown variable {variable}: do you mean {endings[found[0]]}?")
