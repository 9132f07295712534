"""The switches that guides to debugging SGLang describe, each as the settings that do the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import test_standing

from tensortap._config import debug_switches
from tensortap._config.settings import Settings, settings


def made(given: dict[str, object] | None = None, **switches: str) -> Settings:
    return settings(environment={"TENSORTAP_SPOOL": "/s", **switches}, **{"run": "r", **(given or {})})


def test_requests_are_a_condition_with_their_very_ids() -> None:
    assert str(made(SGLANG_DEBUG_REQUESTS="req_1, req[2],").when) == "request=req_1|req[[]2]"
    assert str(made({"when": "phase=decode"}, SGLANG_DEBUG_REQUESTS="req_1").when) == "phase=decode, request=req_1"
    assert made(SGLANG_DEBUG_REQUESTS=" ,").when is None


def test_only_their_steps_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_DEBUG_REQUESTS", "cmpl-a,cmpl-x")
    assert test_standing.recorded(test_standing.serve(tmp_path)) == [0, 1]


def test_forwards_are_recorded_without_further_ado_but_for_levels_that_know_none() -> None:
    assert made(SGLANG_DEBUG_FORWARD="1").level == "L0" and made(SGLANG_DEBUG_FORWARD="1").differences == ()
    assert made({"level": "L1"}, SGLANG_DEBUG_FORWARD="1").differences == ("SGLANG_DEBUG_FORWARD: the forwards of modules are recorded at levels L0 and mix only",)
    assert made({"level": "L1"}, SGLANG_DEBUG_FORWARD="0").differences == ()


@pytest.mark.parametrize("switch", debug_switches.TENSORS)
def test_tensors_are_the_task_that_keeps_them(switch: str) -> None:
    assert debug_switches.asked({switch: "1"}, {}) == {"task": "tensor"}
    there = debug_switches.asked({switch: "1", "SGLANG_SAVE_DIR": "/there"}, {})
    assert there == {"task": "tensor", "payload_folder": Path("/there")}
    elsewhere = debug_switches.asked({switch: "1", "SGLANG_SAVE_DIR": "/there"}, {"payload_folder": Path("/here")})
    assert elsewhere == {"task": "tensor", "differences": ("SGLANG_SAVE_DIR: tensors are kept in /here, which is given",)}
    other = debug_switches.asked({switch: "1"}, {"task": "md5", "differences": ("before",)})
    assert other == {"differences": ("before", f"{switch}: no tensors are kept with the task md5, which is given")}
    assert made(**{switch: "1"}).task == "tensor"


def test_without_switches_nothing_is_asked_for() -> None:
    assert debug_switches.asked({"SGLANG_SAVE_DIR": "/there", "SGLANG_SAVE_TENSORS": "0"}, {}) == {}
