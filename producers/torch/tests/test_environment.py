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


_LAUNCHES = (  # what two launches of one program have
    {"VLLM_DIST_IDENT": "1_29501_a", "SGLANG_RUN_ID": "sglang-run-1", "NCCL_SHM_NAME": "nccl-a", "TRITON_TMPDIR": "/a", "CUDA_FD": "3", "VLLM_RPC_BASE_PATH": "/tmp/tmpab12cd_9/x"},
    {"VLLM_DIST_IDENT": "2_29777_b", "SGLANG_RUN_ID": "sglang-run-2", "NCCL_SHM_NAME": "nccl-b", "TRITON_TMPDIR": "/b", "CUDA_FD": "4", "VLLM_RPC_BASE_PATH": "/tmp/tmpzz99cd_9/x"},
)
_ADDRESSES = (
    {"VLLM_POOL": "psm_0a1b2c3d", "XLA_STORE": "tcp://127.0.0.1:40001", "SGLANG_ZMQ": "ipc:///run/a", "TORCH_SET": "0a1b2c3d-0000-4000-8000-0123456789ab"},
    {"VLLM_POOL": "psm_ffffffff", "XLA_STORE": "tcp://127.0.0.1:51234", "SGLANG_ZMQ": "ipc:///run/b", "TORCH_SET": "ffffffff-0000-4000-8000-0123456789ab"},
)
_COMPUTING = {"NCCL_SHM_DISABLE": "1", "NCCL_LAUNCH_MODE": "GROUP", "CUBLAS_WORKSPACE_CONFIG": ":4096:8", "CUDA_LAUNCH_BLOCKING": "1", "NCCL_SOCKET_NTHREADS": "4", "CUDA_CACHE_PATH": "/tmp/tmp_model"}


@pytest.mark.parametrize("launches", [_LAUNCHES, _ADDRESSES])
def test_what_is_random_by_launch_makes_no_difference(monkeypatch: pytest.MonkeyPatch, launches: tuple[dict[str, str], ...], tmp_path: Path) -> None:
    said = []
    for number, launch in enumerate(launches):
        for name, value in {**launch, **_COMPUTING}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "orig_argv", ["serve", "--port", f"1{number}", f"--master-port={number}", "--out", f"/tmp/tmp0123456{number}/out", "--rank", "8"])
        said.append(environment.of(tmp_path))
    assert said[0] == said[1]
    assert {name: said[0].get(f"env {name}") for name in _COMPUTING} == _COMPUTING
    assert said[0]["command line"] == "serve --port … --master-port=… --out /tmp/…/out --rank 8"


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
