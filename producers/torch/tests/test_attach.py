"""Models that are found, and steps that a program says, without a tap in its code. Engines themselves are run by make test-engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tensortap.attach import plain
from tensortap.attach.served import Served, steps, tap_of
from tensortap.steps import Facts
from tests.reading import only


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of a launched program."""
    monkeypatch.setenv("TENSORTAP_RUN", "attached")
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path / "spool"))
    return tmp_path / "spool"


@pytest.fixture
def finder() -> Iterator[plain.Finder]:
    """Whoever looks for models, for the time of a test."""
    found = plain.Finder()
    yield found
    found.stop()
    if found._session:
        found._session.close()


class Whole(nn.Module):
    """A model whose encoder may be called alone."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, given: Tensor) -> Tensor:
        """Encode, then decide."""
        decided: Tensor = self.head(self.encoder(given))
        return decided


@torch.no_grad()
def test_a_model_is_tapped_in_its_first_call(finder: plain.Finder, asked: Path) -> None:
    model, loss = Whole(), nn.MSELoss()
    for _ in range(2):
        loss(model(torch.ones(1, 4)), torch.zeros(1, 2))
    (first, second) = only(asked).steps
    assert first.begun == second.begun == ["Module.encoder.Linear.forward.0", "Module.head.Linear.forward.0"]


@torch.no_grad()
def test_a_part_that_is_called_first_brings_the_whole(finder: plain.Finder, asked: Path) -> None:
    model = Whole()
    model.encoder(torch.ones(1, 4))
    model(torch.ones(1, 4))
    assert only(asked).steps[-1].begun == ["Module.encoder.Linear.forward.0", "Module.head.Linear.forward.0"]


@torch.no_grad()
def test_a_second_model_is_counted(finder: plain.Finder, asked: Path) -> None:
    first, second = Whole(), nn.Sequential(nn.Linear(4, 4))
    for model in (first, second, second, first):
        model(torch.ones(1, 4))
    steps = only(asked).steps
    assert len(steps) == 2
    assert steps[0].unseen["another model", "Sequential"] == 1


def test_settings_that_cannot_be_honoured_are_told(
    finder: plain.Finder, asked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TENSORTAP_LEVEL", "L7")
    Whole()(torch.ones(1, 4))
    Whole()(torch.ones(1, 4))
    assert capsys.readouterr().err.count("nothing is recorded: setting level: 'L7' is unknown") == 1


def test_an_engine_says_what_a_step_is(asked: Path) -> None:
    """Calls outside of steps warm up and capture; one that raises ends its step."""

    class Runner:
        def __init__(self) -> None:
            self.model = Whole().eval()

        @torch.inference_mode()
        def execute(self, tokens: int) -> Tensor:
            if tokens < 0:
                raise ValueError("on request")
            answer: Tensor = self.model(torch.ones(tokens, 4))
            return answer

    def begin(runner: Runner, args: tuple[int], kwargs: object) -> Served | None:
        if args[0] == 7:
            return None
        served = tap_of(runner, lambda: runner.model, lambda: 3)
        served.begin(Facts(phase="prefill", tokens=args[0], requests=2))
        return served

    steps(Runner, "execute", begin)
    steps(Runner, "execute", begin)  # by another way in
    runner = Runner()
    runner.execute(7)
    runner.execute(5)
    runner.model(torch.ones(1, 4))
    with pytest.raises(ValueError, match="on request"):
        runner.execute(-1)
    runner.execute(7)
    runner.execute(6)
    runner._tensortap._session.close()  # type: ignore[attr-defined]
    spooled = only(asked)
    assert [len(step.begun) for step in spooled.steps] == [2, 0, 2]
    assert spooled.definitions[1]["rank"] == 3
    ended = spooled.steps[0].ended
    assert ended is not None
    assert ended[6:8] == (5 + 1, 2 + 1)
    assert spooled.named("text", ended[8])["text"] == "prefill"
