"""msProbe's config.json, read as it is: what is honoured, what is done otherwise and said so, and what is an error."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tensortap._config.settings import CHOICES, Settings, SettingsError, environment_name, settings
from tensortap._config.values import nearest

COMMON_KEYS: Final = (
    "task", "dump_path", "rank", "step", "level", "async_dump", "dump_enable", "extra_info", "precision", "risk_level",
    "custom_op_namespaces", "load", "enable_dataloader", "acl_config",
)  # fmt: skip
_CHOICE: Final = ("scope", "list", "data_mode", "summary_mode", "slice", "request_id")
BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {
    "statistics": (*_CHOICE, "tensor_list", "device"),
    "tensor": (*_CHOICE, "bench_path", "diff_nums", "file_format", "backward_input"),
    "structure": (*_CHOICE,),
    "nan_check": ("scope", "list", "tensor_list", "data_mode"),
    "overflow_check": ("overflow_nums", "check_mode"),
    "exception_dump": ("scope", "list", "data_mode"),
}
_AGAINST_CPU: Final = (
    "it runs single APIs against the CPU after the model has run: record with task statistics or tensor, write the dump with "
    "tensortap export msprobe, and give its dump.json to msprobe acc_check; or record the model on the CPU, too, and tensortap compare the runs"
)
_FOREIGN: Final[Mapping[str, str]] = {
    "acc_check": _AGAINST_CPU,
    "run_ut": _AGAINST_CPU,
    "free_benchmark": "it disturbs inputs of the model, and tensortap changes nothing",
    "grad_probe": "take task statistics: gradients of parameters are recorded with it",
    "diff_check": "compare two runs instead: tensortap compare PROBLEM BENCH",
}
_TASKS: Final[Mapping[str, str]] = {
    "statistics": "statistics",
    "tensor": "tensor",
    "structure": "structure",
    "nan_check": "statistics",
    "overflow_check": "statistics",
    "exception_dump": "statistics",
}
_REFUSED: Final[Mapping[str, str]] = {
    "slice": "statistics are of whole tensors; leave it out",
    "request_id": "requests are not told apart; leave it out",
    "bench_path": "compare the two runs instead: tensortap compare PROBLEM BENCH",
    "load": "tensortap changes no input of the model; leave it out",
    "acl_config": "kernels are not recorded; leave it out",
}
DONE_OTHERWISE: Final[Mapping[str, str]] = {
    "overflow_check": "task overflow_check: every op is recorded, not only those that overflow; ask with tensortap overflow",
    "exception_dump": "task exception_dump: every op is recorded, not only those that raise",
    "tensor_list": "tensor_list: these ops have statistics as all others; to keep tensors themselves take task tensor, with a list",
    "xor": "summary_mode xor: an order-aware digest is taken instead, and statistics",
    "custom_op_namespaces": "custom_op_namespaces: custom ops are recorded where PyTorch shows them, in any namespace",
    "backward_input": "backward_input: tensors are not read back",
    "enable_dataloader": "enable_dataloader: steps end with step() or an optimizer's step, not with the loader",
}
_DEFAULT_NAMESPACES: Final = ["_C_ascend"]


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a config.json. Raises SettingsError that names the file."""
    try:
        config = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"read {path}: {error}") from error
    if not isinstance(config, dict):
        raise SettingsError(f"read {path}: holds no JSON object")
    return config


def from_msprobe(config: Mapping[str, Any], *, environment: Mapping[str, str] | None = None, **given: object) -> Settings:
    """Settings that do what msProbe would do with this configuration.

    Given are settings that win over those of the file, as TENSORTAP_* variables do. Raises SettingsError for a key that is
    unknown or cannot be honoured; what is done otherwise is listed in Settings.differences.
    """
    environment = os.environ if environment is None else environment
    task = _task(config)
    block = _block(config, task)
    asked = {**_common(config), **_chosen(task, block), **_level(config, task), "risk": _risk(config, block)}
    named = {name: value for name, value in asked.items() if environment_name(name) not in environment}
    made = settings(environment=environment, **{**named, **given})
    return replace(made, differences=(*made.differences, *_differences(config, task, block)))


def enabled(path: str | os.PathLike[str]) -> bool:
    """The switch dump_enable as it stands in the file now; on where it is not given or cannot be read."""
    try:
        return load(path).get("dump_enable") is not False
    except SettingsError:
        return True


def _task(config: Mapping[str, Any]) -> str:
    task = str(config.get("task") or "statistics")
    if task in _FOREIGN:
        raise SettingsError(f"config task: {task} cannot be done: {_FOREIGN[task]}")
    if task not in _TASKS:
        raise SettingsError(f"config task: {task!r} is unknown; {nearest(task, _TASKS)}")
    return task


def _block(config: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    _check_keys("config", config, (*COMMON_KEYS, *BLOCKS, *_FOREIGN))
    block = config.get(task) or {}
    if not isinstance(block, dict):
        raise SettingsError(f"config {task}: {block!r} is no object")
    _check_keys(f"config {task}", block, BLOCKS[task])
    return block


def _check_keys(where: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key, value in given.items():
        if key not in known:
            raise SettingsError(f"{where}: unknown key {key}; {nearest(key, known)}")
        if key in _REFUSED and value not in (None, [], "", {}):
            raise SettingsError(f"{where} {key}: cannot be honoured: {_REFUSED[key]}")


def _common(config: Mapping[str, Any]) -> dict[str, object]:
    path = config.get("dump_path")
    if path is not None and not isinstance(path, str):
        raise SettingsError(f"config dump_path: {path!r} is no text")
    return {
        "run": Path(path).resolve().name if path else None,
        "steps": config.get("step"),
        "ranks": config.get("rank"),
        "stacks": _flag(config, "extra_info"),
        "enabled": _flag(config, "dump_enable"),
    }


def _flag(config: Mapping[str, Any], key: str) -> bool | None:
    value = config.get(key)
    if value is not None and not isinstance(value, bool):
        raise SettingsError(f"config {key}: {value!r} is neither true nor false")
    return value


def _level(config: Mapping[str, Any], task: str) -> dict[str, object]:
    level = config.get("level") or "L1"
    if level == "L2":
        raise SettingsError(
            "config level: L2 records the kernels of one op on an NPU, which tensortap does not; for each call below autograd take level aten "
            "with TENSORTAP_CALLS=each and TENSORTAP_SCOPE=path.of.the.module, else L0, L1 or mix"
        )
    if task == "structure" and level == "L1":
        level = "mix"  # as msProbe does
    return {"level": level}


def _chosen(task: str, block: Mapping[str, Any]) -> dict[str, object]:
    summary = block.get("summary_mode") or "statistics"
    digests = "md5" in summary if isinstance(summary, list) else _digested(summary)
    direction, values = _data_mode(block.get("data_mode"))
    return {
        "task": "md5" if digests and task != "tensor" else _TASKS[task],
        "file_format": _file_format(block.get("file_format")),
        "digest": True if task == "tensor" or summary == "xor" else None,
        "between": _scope(block.get("scope")),
        "names": _list(block.get("list")),
        "direction": direction,
        "values": values,
    }


def _file_format(name: object) -> str | None:
    """That of a legacy key: bin are bare bytes without a shape, which nothing here reads."""
    if name in (None, ""):
        return None
    if name not in CHOICES["file_format"]:
        raise SettingsError(f"config file_format: {name!r} is not written here; {nearest(str(name), CHOICES['file_format'])}")
    return str(name)


def _digested(summary: object) -> bool:
    if summary not in ("statistics", "md5", "xor"):
        raise SettingsError(f"config summary_mode: {summary!r} is unknown; {nearest(str(summary), ('statistics', 'md5', 'xor'))}")
    return summary == "md5"


def _scope(scope: object) -> tuple[str, ...] | None:
    if scope in (None, []):
        return None
    if not isinstance(scope, list) or len(scope) != 2 or not all(isinstance(name, str) for name in scope):
        raise SettingsError(f"config scope: {scope!r} is not the full names of a first and a last op, as in dump.json")
    return tuple(scope)


def _list(names: object) -> tuple[str, ...] | None:
    if names in (None, []):
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise SettingsError(f"config list: {names!r} is no list of parts of op names")
    if regex := [name for name in names if name.startswith("name-regex(")]:
        raise SettingsError(f"config list: {regex[0]} matches nothing in msProbe, either; give parts of names, or set TENSORTAP_OPS")
    return tuple(names)


def _data_mode(modes: object) -> tuple[str, str]:
    if modes in (None, []):
        return "both", "both"
    known = ("all", "forward", "backward", "input", "output")
    if not isinstance(modes, list) or not set(modes) <= set(known):
        raise SettingsError(f"config data_mode: {modes!r} is no list out of {', '.join(known)}")
    if "all" in modes and len(modes) > 1:
        raise SettingsError("config data_mode: all stands alone; leave out the others, or it")
    return _one_of(modes, "forward", "backward"), _one_of(modes, "input", "output")


def _one_of(modes: list[str], one: str, other: str) -> str:
    return "both" if (one in modes) == (other in modes) else one if one in modes else other


def _risk(config: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    risk = config.get("risk_level") or "FOCUS"
    if risk not in ("CORE", "FOCUS", "ALL"):
        raise SettingsError(f"config risk_level: {risk!r} is unknown; {nearest(str(risk), ('CORE', 'FOCUS', 'ALL'))}")
    filtered = block.get("scope") or block.get("list") or config.get("level") not in (None, "L1", "mix")
    return "ALL" if filtered else str(risk)


def _differences(config: Mapping[str, Any], task: str, block: Mapping[str, Any]) -> Iterator[str]:
    if task in DONE_OTHERWISE:
        yield DONE_OTHERWISE[task]
    if block.get("summary_mode") == "xor":
        yield DONE_OTHERWISE["xor"]
    for key, value in {**config, **block}.items():
        if key in DONE_OTHERWISE and key != task and value and not isinstance(value, dict) and value != _DEFAULT_NAMESPACES:
            yield DONE_OTHERWISE[key]
