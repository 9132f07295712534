"""What a worker of diffusion was asked for is a whole step as soon as it is done. The class stands for SGLang's, by its names."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from tensortap.integrations import generic, sglang_diffusion
from tests.reading import only

pytestmark = pytest.mark.usefixtures("asked")


class Worker:
    """Takes noise away in three calls of a network, after the words were read."""

    def __init__(self) -> None:
        self.words, self.noise, self.picture = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))

    def _execute_forward_common(self, request: str) -> str:
        with torch.no_grad():
            read = self.words(torch.ones(1, 2))
            for _ in range(3):
                read = self.noise(read)
            self.picture(read)
        if request == "bad":
            raise ValueError(request)
        return request


def _worker() -> Any:
    module = ModuleType("gpu_worker")
    vars(module)["GPUWorker"] = type("GPUWorker", (Worker,), {sglang_diffusion.REQUEST: Worker._execute_forward_common})
    sglang_diffusion.attach(module)
    sglang_diffusion.attach(module)  # a plug-in may come after the finder
    return module.GPUWorker()


def test_a_picture_ends_its_last_step(finder: generic.Finder, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "_finders", [finder])
    worker = _worker()
    for pictures in (1, 2):
        assert worker._execute_forward_common("cat") == "cat"
        steps = only(asked).steps
        assert [bool(step.ended) for step in steps] == [True] * 3 * pictures
    assert len(steps[-1].begun) > len(steps[-2].begun)  # the picture itself is of the last one


def test_what_raises_goes_on_its_way(finder: generic.Finder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "_finders", [finder])
    with pytest.raises(ValueError, match="bad"):
        _worker()._execute_forward_common("bad")


def test_without_a_tap_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "_finders", [])
    assert _worker()._execute_forward_common("cat") == "cat"
