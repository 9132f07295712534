"""The language of conditions: what both of its readers make of a text, this one and the one in Go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensortap._config.conditions import MOST_TERMS, parse, parse_all
from tensortap._config.settings import SettingsError, settings

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "testdata" / "conditions.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:20])
def test_a_text_is_read_as_by_every_reader(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValueError) as raised:
            parse(case["text"])
        assert str(raised.value) == case["error"]
        return
    assert str(parse(case["text"])) == case["means"]
    assert parse(case["means"]) == parse(case["text"])


def test_several_texts_hold_together() -> None:
    assert str(parse_all(["step=1 or step=2", "loss>3"])) == "step=1, loss>3 or step=2, loss>3"
    with pytest.raises(ValueError, match=f"more than {MOST_TERMS} alternatives"):
        parse_all(["step=1 or step=2"] * 7)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("requst=a", "setting when: at character 1: requst is no condition: do you mean request?"),
        (7, "setting when: 7 is no condition, and no list of such texts"),
        ("difference", "setting when: difference is found by a live comparison: give it to tensortap run, with --bench"),
    ],
)
def test_a_condition_that_cannot_be_read_is_refused_where_a_tap_is_made(given: object, told: str) -> None:
    with pytest.raises(SettingsError) as raised:
        settings(environment={"TENSORTAP_SPOOL": "/s"}, run="r", when=given)
    assert str(raised.value) == told


def test_the_variable_is_named() -> None:
    with pytest.raises(SettingsError, match="setting TENSORTAP_WHEN: at character 1"):
        settings(environment={"TENSORTAP_SPOOL": "/s", "TENSORTAP_WHEN": "x=1"}, run="r")
