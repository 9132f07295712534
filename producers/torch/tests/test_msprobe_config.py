"""msProbe's config.json: accepted as it is, and nothing in it passed over in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensortap._config.msprobe_file import enabled, from_msprobe, load
from tensortap._config.settings import SettingsError

ALONE = {"TENSORTAP_SPOOL": "/s"}

# The file that msProbe's documentation begins with, in its own words for keys and values.
USUAL: dict[str, Any] = {
    "task": "statistics",
    "dump_path": "/data/dump_problem",
    "rank": [],
    "step": [],
    "level": "L1",
    "extra_info": True,
    "async_dump": False,
    "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"},
    "tensor": {"scope": [], "list": [], "data_mode": ["all"]},
    "acc_check": {"white_list": [], "black_list": [], "error_data_path": "./"},
}


def read(**given: Any) -> Any:
    return from_msprobe({**USUAL, **given}, environment=ALONE)


def told(**given: Any) -> str:
    with pytest.raises(SettingsError) as raised:
        read(**given)
    return str(raised.value)


def test_the_usual_file() -> None:
    made = read()
    assert (made.run, made.level, made.task, made.risk, made.direction, made.stacks) == (
        "dump_problem", "L1", "statistics", "FOCUS", "both", True,
    )  # fmt: skip
    assert made.differences == () and made.steps(0) and made.ranks(7)


def test_an_empty_file_is_one_with_defaults() -> None:
    made = from_msprobe({"dump_path": "x"}, environment=ALONE)
    assert (made.level, made.task, made.risk) == ("L1", "statistics", "FOCUS")


def test_steps_and_ranks_with_ranges() -> None:
    made = read(step=[0, "3-5"], rank=["4-6", "1"])
    assert [step for step in range(8) if made.steps(step)] == [0, 3, 4, 5]
    assert [rank for rank in range(8) if made.ranks(rank)] == [1, 4, 5, 6]


def test_names_scope_and_list_switch_the_risk_level_off() -> None:
    made = read(level="mix", statistics={"scope": ["Tensor.add.0.forward", "Tensor.add.3.forward"], "list": ["add"]})
    assert (made.between, made.names, made.risk) == (("Tensor.add.0.forward", "Tensor.add.3.forward"), ("add",), "ALL")
    assert read(risk_level="CORE").risk == "CORE"
    assert read(level="L0").risk == "ALL"


@pytest.mark.parametrize(
    ("modes", "wanted"),
    [
        (["all"], ("both", "both")),
        (["forward"], ("forward", "both")),
        (["input"], ("both", "input")),
        (["backward", "output"], ("backward", "output")),
        (["forward", "backward", "input"], ("both", "input")),
    ],
)
def test_data_modes(modes: list[str], wanted: tuple[str, str]) -> None:
    made = read(statistics={"data_mode": modes})
    assert (made.direction, made.values) == wanted


def test_summary_modes() -> None:
    assert read(statistics={"summary_mode": "md5"}).task == "md5"
    assert read(statistics={"summary_mode": ["max", "md5"]}).task == "md5"
    assert read(statistics={"summary_mode": ["max", "mean"]}).task == "statistics"
    xor = read(statistics={"summary_mode": "xor"})
    assert (xor.task, xor.digest) == ("statistics", True)
    assert xor.differences == ("summary_mode xor: an order-aware digest is taken instead, and statistics",)


def test_tasks_that_are_done_otherwise_say_so() -> None:
    tensor = read(task="tensor", tensor={"list": ["add"], "file_format": "npy"}, async_dump=True)
    assert (tensor.task, tensor.digest, tensor.names, tensor.file_format) == ("tensor", True, ("add",), "npy")
    assert tensor.differences == ()
    assert read(task="structure").level == "mix"
    assert read(task="structure", level="L0").level == "L0"
    assert len(read(task="overflow_check", overflow_check={"overflow_nums": 1}).differences) == 1
    assert read(task="nan_check").differences == ()
    assert len(read(custom_op_namespaces=["mine"]).differences) == 1
    assert read(custom_op_namespaces=["_C_ascend"]).differences == ()


def test_the_debug_level_records_only_what_is_saved() -> None:
    assert read(level="debug").level == "debug"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"taks": "statistics"}, "config: unknown key taks; do you mean task?"),
        ({"statistics": {"sumary_mode": "md5"}}, "config statistics: unknown key sumary_mode; do you mean summary_mode?"),
        ({"task": "statistic"}, "do you mean statistics?"),
        ({"task": "acc_check"}, "config task: acc_check cannot be done: it runs single APIs against the CPU after the model has run: record with task statistics or tensor"),
        ({"task": "free_benchmark"}, "config task: free_benchmark cannot be done: "),
        ({"level": "L2"}, "config level: L2 records the kernels of one op on an NPU, which tensortap does not; for each call below autograd take level aten"),
        ({"level": "L3"}, "setting level: 'L3' is unknown"),
        ({"statistics": {"scope": ["a"]}}, "config scope: ['a'] is not the full names of a first and a last op"),
        ({"statistics": {"list": "add"}}, "config list: 'add' is no list"),
        ({"statistics": {"list": ["name-regex(a)"]}}, "matches nothing in msProbe, either"),
        ({"statistics": {"data_mode": ["all", "input"]}}, "config data_mode: all stands alone"),
        ({"statistics": {"data_mode": ["inputs"]}}, "is no list out of all, forward"),
        ({"statistics": {"slice": [{"dim": 0}]}}, "config statistics slice: cannot be honoured"),
        ({"statistics": {"summary_mode": "md4"}}, "do you mean md5?"),
        ({"statistics": [1]}, "config statistics: [1] is no object"),
        ({"tensor": {"bench_path": "/x"}, "task": "tensor"}, "bench_path: cannot be honoured: compare the two runs instead"),
        ({"load": {"path": "x"}}, "config load: cannot be honoured"),
        ({"risk_level": "LOW"}, "config risk_level: 'LOW' is unknown"),
        ({"step": ["x"]}, "setting steps: 'x' is no step"),
        ({"extra_info": "yes"}, "config extra_info: 'yes' is neither true nor false"),
        ({"dump_path": 3}, "config dump_path: 3 is no text"),
    ],
)
def test_what_cannot_be_honoured_is_an_error_that_says_what_to_do(given: dict[str, Any], words: str) -> None:
    assert words in told(**given)


def test_variables_win_over_the_file_and_arguments_over_both() -> None:
    environment = {**ALONE, "TENSORTAP_RUN": "mine", "TENSORTAP_LEVEL": "mix"}
    made = from_msprobe(USUAL, environment=environment)
    assert (made.run, made.level) == ("mine", "mix")
    assert from_msprobe(USUAL, environment=environment, level="L0").level == "L0"


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    missing, broken = tmp_path / "missing.json", tmp_path / "broken.json"
    broken.write_text("{")
    for path in (missing, broken):
        with pytest.raises(SettingsError, match=path.name):
            load(path)
    broken.write_text("[]")
    with pytest.raises(SettingsError, match="holds no JSON object"):
        load(broken)


def test_the_switch_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"dump_enable": False}))
    assert not enabled(path)
    path.write_text(json.dumps({}))
    assert enabled(path)
    path.unlink()
    assert enabled(path)
