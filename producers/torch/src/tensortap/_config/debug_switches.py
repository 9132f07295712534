"""The switches that guides to debugging SGLang have their readers patch into it, which work here without a patch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tensortap._config.conditions import ALWAYS, When, either

REQUESTS: Final = "SGLANG_DEBUG_REQUESTS"  # ids, of which one is to be served
FORWARD: Final = "SGLANG_DEBUG_FORWARD"
TENSORS: Final = ("SGLANG_SAVE_TENSORS", "SGLANG_DEBUG_SAVE_TENSORS")
FOLDER: Final = "SGLANG_SAVE_DIR"  # of those
_PATTERN: Final = str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]"})


def asked(environment: Mapping[str, str], given: Mapping[str, object]) -> dict[str, object]:
    """The settings that the switches ask for beside those given. What cannot be done so is a sentence among the differences."""
    differences: list[str] = []
    found = _requests(environment, given) | _tensors(environment, given, differences)
    if "task" in found:
        found |= _folder(environment, given, differences)
    if _is_on(environment, FORWARD) and given.get("level", "L0") not in ("L0", "mix"):
        differences.append(f"{FORWARD}: the forwards of modules are recorded at levels L0 and mix only")
    if differences:
        found["differences"] = (*_texts(given.get("differences")), *differences)
    return found


def _requests(environment: Mapping[str, str], given: Mapping[str, object]) -> dict[str, object]:
    ids = [text.strip().translate(_PATTERN) for text in environment.get(REQUESTS, "").split(",") if text.strip()]
    if not ids:
        return {}
    before = given.get("when")
    return {"when": (before if isinstance(before, When) else ALWAYS).both(When(either("request", ids)))}


def _tensors(environment: Mapping[str, str], given: Mapping[str, object], differences: list[str]) -> dict[str, object]:
    switch = next((name for name in TENSORS if _is_on(environment, name)), "")
    if not switch:
        return {}
    if given.get("task", "tensor") != "tensor":
        differences.append(f"{switch}: no tensors are kept with the task {given['task']}, which is given")
        return {}
    return {"task": "tensor"}


def _folder(environment: Mapping[str, str], given: Mapping[str, object], differences: list[str]) -> dict[str, object]:
    folder = environment.get(FOLDER)
    if not folder:
        return {}
    if "payload_folder" not in given:
        return {"payload_folder": Path(folder).absolute()}
    differences.append(f"{FOLDER}: tensors are kept in {given['payload_folder']}, which is given")
    return {}


def _is_on(environment: Mapping[str, str], switch: str) -> bool:
    return environment.get(switch, "").lower() in ("1", "true", "yes", "on")


def _texts(value: object) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
