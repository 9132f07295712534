"""The definitions of the run and of the rank: with what, where and of which code this process computes."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import nn

from tensortap._config.settings import Settings
from tensortap._health import topology
from tensortap._health.topology import Place
from tensortap._session import environment, surroundings

_ENGINES: Final = ("sglang", "vllm")
_GREATEST_SEED: Final = (1 << 63) - 1


def run(settings: Settings, place: Place, model: nn.Module | None = None) -> dict[str, object]:
    """The fields of the definition `run`, as SPOOL.md lists them."""
    engine, engine_version = _engine()
    return {
        "name": settings.run,
        "model": model_name(model),
        "framework": "pytorch",
        "framework_version": torch.__version__,
        "engine": engine,
        "engine_version": engine_version,
        "world_size": place.world_size,
        "dtype": main_dtype(model),
        "seed": seed(),
        "level": settings.level,
        "task": settings.task,
        "commit": commit(_code_folder()),
        "config": json.dumps({**_plain(settings), **surroundings.of(model), **environment.of(_code_folder())}, sort_keys=True),
        "labels": dict(settings.labels),
        "resume": topology.is_restart(),
    }


def rank(place: Place, model: nn.Module | None = None) -> dict[str, object]:
    """The fields of the definition `rank`."""
    return {
        "rank": place.rank,
        "host": platform.node(),
        "pid": os.getpid(),
        "device": device(model),
        **place.columns(),
        "source_name": f"rank{place.rank}" if place.distributed else f"proc{os.getpid()}",
        "started_time_ns": started_time_ns(),
        "launch": topology.LAUNCH,
        "child": topology.is_child(),
    }


def model_name(model: nn.Module | None) -> str:
    """What its user calls the model: the name in its configuration, else its class, without wrappers."""
    while isinstance(inner := getattr(model, "module", None), nn.Module):
        model = inner
    if model is None:
        return ""
    given = getattr(getattr(model, "config", None), "_name_or_path", "")
    return given if isinstance(given, str) and given else type(model).__name__


def main_dtype(model: nn.Module | None) -> str:
    """The dtype of most parameter elements, as float32; empty for a model without parameters."""
    elements: Counter[torch.dtype] = Counter()
    for parameter in model.parameters() if model is not None else ():
        elements[parameter.dtype] += _elements(parameter)
    return str(elements.most_common(1)[0][0]).removeprefix("torch.") if elements else ""


def device(model: nn.Module | None) -> str:
    """The device of the first parameter, else the one that CUDA would take, else cpu."""
    first = next(iter(model.parameters()), None) if model is not None else None
    if first is not None:
        return str(first.device)
    return f"cuda:{torch.cuda.current_device()}" if _cuda_is_used() else "cpu"


def seed() -> int | None:
    """The seed of torch's generator on the CPU, as last set; None where the store has no room for it."""
    found = torch.initial_seed()
    return found if 0 <= found <= _GREATEST_SEED else None


def commit(folder: Path) -> str:
    """The commit checked out where the code lies, read from git's files; empty when there is none.

    No git process is started: a process that uses CUDA or MPI had better not fork.
    """
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.exists():
            return _head(git)
    return ""


def started_time_ns() -> int:
    """When this process began, UTC; the time of this call where /proc does not say."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        up = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return time.time_ns() - up + ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.time_ns()


def _cuda_is_used() -> bool:
    return cast(bool, torch.cuda.is_initialized())


def _elements(parameter: torch.Tensor) -> int:
    try:
        return parameter.numel()
    except (RuntimeError, ValueError):  # a lazy parameter has no shape yet
        return 0


def _engine() -> tuple[str, str]:
    for name in _ENGINES:
        if module := sys.modules.get(name):
            return name, str(getattr(module, "__version__", ""))
    return "", ""


def _code_folder() -> Path:
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(script).resolve().parent if script else Path.cwd()


def _head(git: Path) -> str:
    try:
        if git.is_file():  # a worktree or submodule: the file names the folder
            git = (git.parent / git.read_text().removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text().strip()
        return _resolve(git, head.removeprefix("ref:").strip()) if head.startswith("ref:") else head
    except (OSError, UnicodeDecodeError):
        return ""


def _resolve(git: Path, reference: str) -> str:
    common = git / (git / "commondir").read_text().strip() if (git / "commondir").exists() else git
    for folder in (git, common):
        if (folder / reference).is_file():
            return (folder / reference).read_text().strip()
    packed = (common / "packed-refs").read_text() if (common / "packed-refs").exists() else ""
    return next((line.split()[0] for line in packed.splitlines() if line.endswith(f" {reference}")), "")


_OF_PEOPLE: Final = ("debug", "debug_port", "debug_wait", "post_mortem")  # who looks on changes nothing of the run


def _plain(settings: Settings) -> Mapping[str, object]:
    shown: dict[str, Any] = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    for name in ("spool", "payload_folder", "file_format", "run", "labels", "world_size", "replica", "appends"):  # of one host or process, or of files; columns of their own
        shown.pop(name)
    shown["apis"] = str(settings.apis.path) if settings.apis else None
    for name in _OF_PEOPLE:
        shown.pop(name)
    shown["steps"], shown["ranks"] = str(settings.steps), str(settings.ranks)
    shown["when"] = str(settings.when or "")
    shown |= shown.pop("program")
    return {name: value for name, value in shown.items() if value not in ((), None, {}, "")}
