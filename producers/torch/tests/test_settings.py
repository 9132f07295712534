"""Settings from keyword arguments and from variables."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from tensortap._config.settings import SETTINGS, Settings, SettingsError, changed, default_run_name, environment_name, settings
from tensortap._config.spool_root import lasting_folder, spool_root
from tensortap._config.step_ranges import parse_steps

ALONE = {"TENSORTAP_SPOOL": "/spool"}


@pytest.mark.parametrize(
    ("given", "wanted", "shown"),
    [
        (None, [0, 1, 99, 10**9], "all"),
        (3, [3], "3"),
        ("0,3-5", [0, 3, 4, 5], "0,3-5"),
        ("10-30/10", [10, 20, 30], "10-30/10"),
        ("5-/2", [5, 7, 100001], "5-/2"),
        (["0", 4, "6-7"], [0, 4, 6, 7], "0,4,6-7"),
        (range(2, 9, 3), [2, 5, 8], "2-8/3"),
        ([], [0, 5], "all"),
    ],
)
def test_steps_are_read(given: object, wanted: list[int], shown: str) -> None:
    steps = parse_steps(given)
    assert all(steps(step) for step in wanted)
    assert str(steps) == shown
    if steps.ranges is not None:
        assert [step for step in range(max(wanted) + 2) if steps(step)][: len(wanted)] == sorted(wanted)[: len(wanted)] or "-/" in shown


@pytest.mark.parametrize("given", ["x", "3-1", "1-5/0", True, 1.5, -1, "1,,2"])
def test_what_is_no_step_is_refused(given: object) -> None:
    with pytest.raises(ValueError):
        parse_steps(given)


def test_steps_know_when_they_are_over() -> None:
    steps = parse_steps("0,3-5")
    assert [steps.over(step) for step in (0, 4, 5, 6)] == [False, False, True, True]
    assert not parse_steps(None).over(10**6)
    assert not parse_steps("3-").over(10**6)


def test_keyword_arguments_win_over_variables() -> None:
    made = settings(environment={**ALONE, "TENSORTAP_RUN": "a", "TENSORTAP_LEVEL": "mix", "TENSORTAP_STEPS": "1-2"}, level="L1")
    assert (made.run, made.level, made.steps(2), made.steps(3)) == ("a", "L1", True, False)


def test_the_spool_is_where_the_agent_looks() -> None:
    cases = json.loads((Path(__file__).parent / "testdata" / "spool_roots.json").read_text())
    found = [str(spool_root(case["environment"])) for case in cases]
    assert found == [case["root"].format(uid=os.getuid()) for case in cases] and cases


def test_a_spool_outlives_its_users_session(tmp_path: Path) -> None:
    """A folder in which nobody can write is passed over; the last is taken in any case, and making the spool there says what is wrong."""
    missing = str(tmp_path / "missing")
    assert lasting_folder() == "/var/tmp" and lasting_folder((missing, str(tmp_path))) == str(tmp_path)
    assert lasting_folder((str(tmp_path), missing)) == str(tmp_path) and lasting_folder((missing, missing)) == missing


def test_a_spool_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert settings(environment={"TENSORTAP_SPOOL": "~/a"}).spool == settings(environment=ALONE, spool="~/a").spool == Path("/home/me/a")


def test_every_variable_is_read() -> None:
    texts = {
        "run": "r", "level": "mix", "calls": "each", "budget": "2%", "payload_folder": "/kept", "file_format": "npy", "signal": "USR1", "steps": "3", "ranks": "0-1", "rank": "1", "scope": "layers.*, head", "ops": "softmax",
        "first_n_per_site": "2", "task": "md5", "when": "loss>1", "sketch": "1", "digest": "true", "backward": "full", "detail_steps": "3", "spool": "/x",
        "on_nan": "record,keep,raise", "on_nan_bytes": "1",
        "names": "linear", "apis": "/dev/null", "between": "A.0.forward,B.0.forward", "risk": "CORE", "direction": "forward", "values": "input",
        "segments": "8", "memory": "yes", "stacks": "off", "logging": "off", "labels": "team=a,try=2", "threads": "1", "enabled": "no",
        "debug": "0,3", "debug_port": "6000", "debug_wait": "5s", "post_mortem": "on",
    }  # fmt: skip
    assert set(texts) == set(SETTINGS)
    made = settings(environment={environment_name(name): text for name, text in texts.items()})
    plain = settings(environment=ALONE, run="x")
    same = [name for name in texts if getattr(made, name) == getattr(plain, name)]
    assert same == []
    assert made.labels == {"team": "a", "try": "2"}
    assert made.scope == ("layers.*", "head")
    assert made.spool == Path("/x")


@pytest.mark.parametrize(
    ("given", "share", "size"),
    [
        ("2%", 0.02, None),
        (0.02, 0.02, None),
        ("20GB", None, 20 * 10**9),
        ("500MiB", None, 500 << 20),
        ("1.5 kB", None, 1500),
        ("2%, 20GB", 0.02, 20 * 10**9),
        (["1TiB", "2%", "host=3TiB"], 0.02, 1 << 40),
    ],
)
def test_a_budget_is_of_the_time_and_of_raw_tensors(given: object, share: float | None, size: int | None) -> None:
    made = settings(environment=ALONE, run="r", budget=given)
    assert (made.budget, made.payload_bytes) == (share, size)
    again = changed(made, budget="7B")
    assert (again.budget, again.payload_bytes) == (None, 7)


def test_every_field_is_a_setting_or_made_of_some() -> None:
    assert {entry.name for entry in dataclasses.fields(Settings)} - set(SETTINGS) == {"appends", "differences", "payload_bytes", "payload_host_bytes", "program", "replica", "shape_log", "world_size"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"levle": "L0"}, "unknown setting levle: do you mean level?"),
        ({"level": "L5"}, "setting level: 'L5' is unknown; "),
        ({"task": "statistic"}, "do you mean statistics?"),
        ({"segments": 1}, "setting segments: 1 is less than 2"),
        ({"first_n_per_site": 0}, "setting first_n_per_site: 0 is less than 1"),
        ({"steps": "1-x"}, "setting steps: '1-x' is no step"),
        ({"between": "a"}, "needs the name of the first op and that of the last, has 1 names"),
        ({"labels": "a"}, "'a' has no value"),
        ({"sketch": "maybe"}, "setting sketch: 'maybe' is neither true nor false"),
        ({"ops": "add", "level": "L0"}, "setting ops: level L0 records modules"),
        ({"scope": "add", "level": "L1"}, "setting scope: level L1 knows no modules"),
        ({"run": "r" * 201}, "a name has 1 to 200 characters, this one 201"),
        ({"budget": "20gigabytes"}, "setting budget: '20gigabytes' is neither a share of the time, as 2%, nor a size of raw tensors, as 20GB"),
        ({"budget": "1%,2%"}, "give one share of the time and one size of raw tensors at most, as 2%,20GB"),
        ({"budget": "0B"}, "setting budget: 0B is no size of raw tensors: give 1B or more"),
        ({"budget": 3}, "setting budget: 3 is no share of the time: "),
        ({"task": "tensor", "file_format": "bin"}, "setting file_format: 'bin' is unknown; "),
        ({"on_nan": "keep,halt"}, "setting on_nan: 'halt' is unknown"),
        ({"on_nan": "keep", "level": "aten"}, "setting on_nan: level aten measures no ops"),
        ({"on_nan": "stop", "ranks": "0"}, "setting on_nan: stop ends all ranks"),
        ({"threads": 1.5}, "setting threads: 1.5 is no whole number"),
    ],
)
def test_errors_name_the_setting_and_what_to_do(given: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError) as raised:
        settings(environment=ALONE, **{"run": "r", **given})
    assert told in str(raised.value)


def test_a_misspelt_variable_is_an_error_and_another_programs_is_not() -> None:
    with pytest.raises(SettingsError, match="unknown variable TENSORTAP_LEVELS: do you mean TENSORTAP_LEVEL"):
        settings(environment={**ALONE, "TENSORTAP_LEVELS": "L1"}, run="r")
    assert settings(environment={**ALONE, "TENSORTAP_MSPROBE": "/x", "TENSORTAP_NATS": "n"}, run="r").run == "r"


def test_ranks_of_one_run_must_share_its_name() -> None:
    with pytest.raises(SettingsError, match="the ranks of a run need one name"):
        default_run_name({"WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "none"})
    assert default_run_name({"WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "job7"}).endswith("-job7")
    assert default_run_name({})


def test_changed_keeps_the_rest() -> None:
    base = settings(environment=ALONE, run="r", level="mix", steps="3")
    other = changed(base, task="structure", steps=None)
    assert (other.task, other.level, other.steps(3), other.steps(4)) == ("structure", "mix", True, False)
