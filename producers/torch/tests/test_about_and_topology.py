"""What is said of the run and of the rank."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

import tensortap
from tensortap._config.settings import settings
from tensortap._health.topology import AXES, Place, place
from tensortap._session import run_info


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_run_is_described_with_every_key_of_its_definition() -> None:
    model = nn.Linear(2, 2).to(torch.bfloat16)
    asked = settings(environment={"TENSORTAP_SPOOL": "/s"}, run="r", level="mix", steps="3", labels={"a": "b"})
    said = run_info.run(asked, Place(world_size=4), model)
    assert set(said) == set(
        "name model framework framework_version engine engine_version world_size dtype seed level task commit config labels resume".split()
    )
    wanted = {"name": "r", "model": "Linear", "framework": "pytorch", "world_size": 4, "dtype": "bfloat16", "level": "mix", "engine": ""}
    assert wanted.items() <= said.items()
    assert '"steps": "3"' in str(said["config"]) and "/s" not in str(said["config"])


def test_the_rank_is_described_with_every_key_of_its_definition() -> None:
    said = run_info.rank(Place(rank=3, distributed=True, coordinates={"tp": (1, 2)}), nn.Linear(1, 1))
    sizes = [f"{axis}_size" for axis in AXES]
    assert set(said) == {"rank", "host", "pid", "device", "source_name", "started_time_ns", "launch", "child", *AXES, *sizes}
    assert {"rank": 3, "pid": os.getpid(), "device": "cpu", "tp": 1, "tp_size": 2, "pp": -1, "pp_size": -1}.items() <= said.items()
    assert said["source_name"] == "rank3"
    assert run_info.rank(Place())["source_name"] == f"proc{os.getpid()}"


IMPORTED = """
import time
before = time.time_ns()
began = time.process_time()
import torch
torch_s = time.process_time() - began
import tensortap.integrations.msprobe
package_s = time.process_time() - began - torch_s
from tensortap._session.run_info import started_time_ns
print(before - started_time_ns(), package_s / torch_s)
"""


def test_a_process_knows_its_start_and_imports_the_package_in_a_fraction_of_torchs_time() -> None:
    assert compileall.compile_dir(Path(tensortap.__file__).parent, quiet=1), "as an installed package is"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    said = subprocess.run([sys.executable, "-c", IMPORTED], env=environment, check=True, capture_output=True, text=True).stdout.split()
    assert 0 <= int(said[0]) < 30_000_000_000
    assert run_info.started_time_ns() < time.time_ns()
    assert float(said[1]) < 0.2, "of the processor time that torch takes"


def test_the_model_is_named_by_its_configuration_else_by_its_class_without_wrappers() -> None:
    model = nn.Sequential(nn.Linear(1, 1))
    assert run_info.model_name(model) == "Sequential"
    assert run_info.model_name(nn.DataParallel(model)) == "Sequential"
    setattr(model, "config", type("C", (), {"_name_or_path": "tiny/llama"})())
    assert run_info.model_name(model) == "tiny/llama"
    assert run_info.model_name(None) == run_info.main_dtype(None) == ""


def test_a_model_of_lazy_or_no_parameters_has_a_description() -> None:
    assert run_info.main_dtype(nn.ReLU()) == ""
    assert run_info.main_dtype(nn.LazyLinear(3)) == "float32"


def test_the_seed_is_the_one_last_set() -> None:
    kept = torch.get_rng_state()
    torch.manual_seed(1234)
    assert run_info.seed() == 1234
    torch.manual_seed(-1)
    assert run_info.seed() is None
    torch.set_rng_state(kept)


def test_the_commit_is_read_from_branch_packed_reference_detached_head_and_worktree(tmp_path: Path) -> None:
    assert run_info.commit(tmp_path) == ""
    repository = tmp_path / "repository"
    (repository / "src").mkdir(parents=True)
    git(repository, "init", "-q", "-b", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    head = git(repository, "rev-parse", "HEAD")
    assert run_info.commit(repository / "src") == head
    git(repository, "pack-refs", "--all")
    assert run_info.commit(repository / "src") == head
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert run_info.commit(tmp_path / "tree") == head
    git(repository, "checkout", "-q", "--detach")
    assert run_info.commit(repository) == head


def test_a_process_that_is_not_distributed_is_rank_0_of_1() -> None:
    assert place(environment={}) == Place(rank=0, world_size=1, distributed=False)


@pytest.mark.parametrize("names", [("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")])
def test_launchers_say_the_rank_before_torch_does(names: tuple[str, str]) -> None:
    assert place(environment=dict(zip(names, ("2", "8"), strict=True))) == Place(rank=2, world_size=8, distributed=True)
    assert place(environment={names[0]: "2"}) == Place(rank=2, world_size=None, distributed=True)


def test_a_rank_that_is_given_counts() -> None:
    assert place(environment={}, rank=3) == Place(rank=3, world_size=None, distributed=True)
    assert place(environment={"RANK": "1", "WORLD_SIZE": "8"}, rank=3).rank == 3
