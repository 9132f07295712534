"""What is said of machine, packages, variables, command line and code: enough to see what differs, and no secret."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
import torch

from tensortap._session import environment


def test_versions_of_what_computes_are_told(tmp_path: Path) -> None:
    said = environment.of(tmp_path)
    assert str(said["package numpy"])[0].isdigit() and said["python"] == sys.version.split()[0]
    assert torch.backends.cpu.get_cpu_capability() in str(said["cpu"])


def test_variables_are_told_but_no_secret_and_none_of_one_rank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.setenv("VLLM_SERVER", "http://me:hunter2@there")
    for name in ("VLLM_API_KEY", "SGLANG_TOKEN", "NCCL_HOSTID", "CUDA_VISIBLE_DEVICES", "HOME_PASSWORD"):
        monkeypatch.setenv(name, "hunter2")
    said = environment.of(tmp_path)
    assert said["env NCCL_ALGO"] == "Ring" and said["env VLLM_SERVER"] == "http://there"
    assert "hunter2" not in str(said)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["python", "train.py", "--lr", "0.1"], "python train.py --lr 0.1"),
        (["python", "-c", "print('hunter2')", "x"], "python -c … x"),
        (["serve", "--api-key", "hunter2", "--tp=2"], "serve --api-key … --tp=2"),
        (["serve", "--hf-token=hunter2"], "serve --hf-token=…"),
        (["train", "--local-rank=3", "--local_rank", "3", "a"], "train a"),
        (["get", "https://me:hunter2@there/x"], "get https://there/x"),
        (["serve", "--max-tokens", "7", "--secret"], "serve --max-tokens 7 --secret …"),
    ],
)
def test_a_command_line_is_told_without_secrets(monkeypatch: pytest.MonkeyPatch, given: list[str], shown: str, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "orig_argv", given)
    assert environment.of(tmp_path)["command line"] == shown


def test_code_that_a_commit_does_not_hold_changes_its_checksum(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "code" not in environment.of(tmp_path)
    own, gone = types.ModuleType("own"), types.ModuleType("gone")
    own.__file__, gone.__file__ = str(tmp_path / "own.py"), str(tmp_path / "gone.py")
    monkeypatch.setitem(sys.modules, "own", own)
    monkeypatch.setitem(sys.modules, "gone", gone)
    checksums = set()
    for text in ("a = 1", "a = 2", "a = 1 "):
        (tmp_path / "own.py").write_text(text)
        checksums.add(environment.of(tmp_path)["code"])
    assert len(checksums) == 3 and all(str(one).endswith("of 2 files") for one in checksums)
