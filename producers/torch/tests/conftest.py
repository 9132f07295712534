"""What tests of several files ask for."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import interpreting
import pytest
import torch

from tensortap.integrations import generic

# Pythons that tests start find the package, too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parents[1] / "src"), os.environ.get("PYTHONPATH"))))


def pytest_collection_finish() -> None:
    """Each tap looks through all objects of the process: what was imported by now is half a million that no test made."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Python ends as it would have."""
    gc.unfreeze()


@pytest.fixture
def interpreted() -> None:
    """Triton's kernels run on the CPU."""
    if not interpreting.is_on():
        pytest.skip("run by interpreting.run_all")


@pytest.fixture
def deterministic() -> Iterator[None]:
    """Algorithms that compute the same again; memory that nobody wrote yet is NaN with them."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of a launched program."""
    monkeypatch.setenv("TENSORTAP_RUN", "attached")
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path / "spool"))
    return tmp_path / "spool"


@pytest.fixture
def finder() -> Iterator[generic.Finder]:
    """Whoever looks for models, for the time of a test."""
    found = generic.Finder()
    yield found
    found.stop()
    if found._session:
        found._session.close()
