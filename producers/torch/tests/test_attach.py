"""Models that are found, and steps that a program says, without a tap in its code. Engines themselves are run by make test-engines."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tensortap._record import module_calls
from tensortap._record.served_requests import Request, UnreadableError, prompt_of
from tensortap._session.step_boundaries import Facts
from tensortap.integrations import generic
from tensortap.integrations.served import Rank, Served, Step, close, in_order, reader, steps, tap_of
from tests.reading import only

pytestmark = pytest.mark.usefixtures("asked")


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
def test_a_model_is_tapped_in_its_first_call(finder: generic.Finder, asked: Path) -> None:
    model, loss = Whole(), nn.MSELoss()
    for _ in range(2):
        loss(model(torch.ones(1, 4)), torch.zeros(1, 2))
    (first, second) = only(asked).steps
    assert first.begun == second.begun == ["Module.encoder.Linear.forward.0", "Module.head.Linear.forward.0"]


@torch.no_grad()
def test_a_part_that_is_called_first_brings_the_whole(finder: generic.Finder, asked: Path) -> None:
    model = Whole()
    model.encoder(torch.ones(1, 4))
    model(torch.ones(1, 4))
    assert only(asked).steps[-1].begun == ["Module.encoder.Linear.forward.0", "Module.head.Linear.forward.0"]


@torch.no_grad()
def test_a_part_of_something_that_is_never_called_makes_the_steps(finder: generic.Finder, asked: Path) -> None:
    """As a model that PEFT adapts is called, below a holder of its own."""
    holder = nn.ModuleDict({"base": Whole()})
    for _ in range(3):
        holder["base"](torch.ones(1, 4))
    steps = only(asked).steps
    assert [len(step.begun) for step in steps] == [2, 3, 3]  # the first call was under way
    assert steps[1].begun[0] == "Module.base.Whole.forward.0"


def test_settings_that_cannot_be_honoured_are_told(
    finder: generic.Finder, asked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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

    def begin(runner: Runner, args: tuple[int], kwargs: object) -> tuple[Served, Step] | None:
        served = tap_of(runner, lambda: runner.model, lambda: Rank(3))
        if args[0] == 7:
            served.not_served("health check")
            return None
        return served, Step(Facts(phase="prefill", tokens=args[0], requests=2))

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
    close(runner)
    spooled = only(asked)
    assert [len(step.begun) for step in spooled.steps] == [2, 0, 2]
    assert spooled.definitions[1]["rank"] == 3
    assert [step.unseen.get(("serves no request", "warm-up")) for step in spooled.steps] == [1, 1, 1]
    assert [step.unseen.get(("serves no request", "health check")) for step in spooled.steps] == [1, None, 1]
    ended = spooled.steps[0].ended
    assert ended is not None
    assert ended[6:8] == (5 + 1, 2 + 1)
    assert spooled.named("text", ended[8])["text"] == "prefill"


@torch.no_grad()
def test_nothing_is_left_on_models_when_their_taps_end(finder: generic.Finder, asked: Path) -> None:
    served = Served(whole := Whole(), Rank(0))
    served.close()
    holder = nn.ModuleDict({"base": Whole()})
    holder["base"](torch.ones(1, 4))
    session = finder.expect(holder)
    assert session is not None and [*module_calls._calls._sites]
    session.close()
    assert [part for model in (whole, holder) for part in model.modules() if id(part) in module_calls._calls._sites] == []


def test_looking_for_models_warns_of_nothing_when_one_is_compiled(finder: generic.Finder) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        generic.Finder().stop()  # as each process does at its start, after the user's own filters
        compiled = torch.compile(nn.Linear(4, 4), backend="eager")
        assert compiled(torch.ones(1, 4)).shape == (1, 4)


def test_requests_are_written_with_their_rows(asked: Path) -> None:
    """The batch has them in an order of its own, which is known once the model is entered."""
    model = Whole().eval()
    served = Served(model, Rank(0))
    prompt = prompt_of([5, 6, 7])
    requests = (Request("a", "prefill", 3, 0, prompt), Request("b", "decode", 1, 40))

    class Reordered(Step):
        def order(self) -> list[str]:
            return ["b", "left over", "a"]

    served.begin(Reordered(Facts(phase="mixed", tokens=4, requests=2, served=requests)))
    model(torch.ones(4, 4))
    served.end()
    served.begin(Step(Facts(phase="mixed", tokens=4, requests=2, served=requests)))
    served.end()  # a graph was replayed
    served.close()
    spooled = only(asked)
    rows = [(spooled.named("text", row[0])["text"], *row[3:]) for kind, row in spooled.rows if kind == "request"]
    b_first, a_last = ("b", 0, 40 + 1, 1, 0 + 1, 0), ("a", prompt.hash, 0 + 1, 3, 1 + 1, 3 + 1)
    assert rows == [b_first, a_last, ("a", prompt.hash, 1, 3, 1, 4), ("b", 0, 41, 1, 4, 0)]
    assert spooled.steps[0].unseen == {}
    assert spooled.steps[1].unseen == {("cuda graph", "encoder"): 1, ("cuda graph", "head"): 1}


def test_rows_of_an_order_that_is_not_known_are_not_known() -> None:
    requests = [Request("a", "decode", 1), Request("b", "decode", 1)]
    assert in_order(requests, None) == requests
    assert in_order(requests, ["a"]) == requests


def test_prompts_are_told_apart_by_their_tokens() -> None:
    assert prompt_of([1, 2, 3]) == prompt_of((1, 2, 3))
    assert len({prompt_of(tokens).hash for tokens in ([], [0], [0, 0], [1, 2, 3], [3, 2, 1], [-1])}) == 6


class Tokenizer:
    """Says a token as its letter."""

    def decode(self, tokens: list[int]) -> str:
        """As those of transformers, it takes a list, and of tokens that there are."""
        return "".join(chr(token) for token in tokens)


def test_a_prompt_is_read_by_the_engines_tokenizer() -> None:
    tokens = array("q", map(ord, " A b"))
    assert prompt_of(tokens, reader(Tokenizer, tokens)).text == "Ab"
    missing: dict[str, object] = {}
    broken: list[tuple[Callable[[], object], str]] = [
        (lambda: None, "without a tokenizer"), (lambda: missing["vocab"], "KeyError: 'vocab'"), (object, "no attribute 'decode'"),
    ]  # fmt: skip
    for tokenizer, reason in broken:
        with pytest.raises(UnreadableError, match=reason):
            _ = prompt_of(tokens, reader(tokenizer, tokens)).text


@torch.inference_mode()
def test_padding_is_no_part_of_a_tensor(asked: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 8, bias=False)).eval()  # as many rows of weights as of tokens
    served = Served(model, Rank(0))
    served.begin(Step(Facts(phase="decode", tokens=5)))
    model(torch.ones(8, 8))
    served.end()
    served.begin(Step(Facts(phase="prefill", tokens=8)))
    model(torch.ones(8, 8))
    served.end()
    served.close()
    shapes = [{value.role: value.layout["shape"] for value in step.values} for step in only(asked).steps]
    assert shapes[0] == {"input": [5, 8], "output": [5, 8], "parameter": [8, 8]}
    assert shapes[1] == {"input": [8, 8], "output": [8, 8], "parameter": [8, 8]}


def test_forwards_that_train_are_no_part_of_a_step_that_evaluates(finder: generic.Finder, asked: Path) -> None:
    """As the Trainer of transformers does: micro steps, an optimizer's step, and an evaluation now and then."""
    model, given = Whole(), torch.ones(1, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for _ in range(2):
            model(given).sum().backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(given)
            model(given)
        model.train()
    assert [len(step.micro_steps) for step in only(asked).steps] == [2, 1, 1, 2, 1, 1]
