"""Conditions at launch: only steps that fulfil them are recorded, in real loops that train and that serve."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import asking
import pytest
import reading
import torch
from models import small
from torch import nn

import tensortap
from tensortap._record import unseen
from tensortap._record.guard import Guard
from tensortap._record.served_requests import Prompt, Request, UnreadableError, prompt_of
from tensortap._session.measures import Losses
from tensortap._session.step_boundaries import Facts
from tensortap._spool import layout

BATCHES = [["a"], ["a", "b"], ["b"], ["b", "c"], ["c"], ["c"]]  # the requests of each step
WORDS = {"a": "the blue sky", "b": "the red sea", "c": "a blue sea"}


def prompt(name: str) -> Prompt:
    return prompt_of([ord(name)], lambda: f"<s>user\n{WORDS[name]}</s>")


def serve(spool: Path, prompt: Callable[[str], Prompt] = prompt, before: Callable[[int], None] = lambda step: None, **settings: Any) -> reading.Spooled:
    """Serve the batches, a step each; a request is read in its first step, and decodes then."""
    model, batch = small()
    seen: set[str] = set()
    with tensortap.tap(model, run="served", spool=spool, **settings) as tap:
        for step, names in enumerate(BATCHES):
            before(step)
            phases = {name: "decode" if name in seen else "prefill" for name in names}
            seen.update(names)
            served = tuple(Request(f"cmpl-{name}", phases[name], 1, prompt=prompt(name)) for name in names)
            phase = phases[names[0]] if len(set(phases.values())) == 1 else "mixed"
            tap.facts = Facts(phase=phase, served=served)
            tap.start()
            with torch.inference_mode():
                model(batch)
            tap.step()
    return reading.only(spool)


def recorded(spooled: reading.Spooled) -> list[int]:
    return [step.number for step in spooled.steps if any(name.startswith("Module.") for name in step.begun)]


def left_out(spooled: reading.Spooled) -> dict[str, int]:
    """How many steps each condition left out."""
    counts: dict[str, int] = {}
    for kind, row in spooled.rows:
        if kind == "unseen" and spooled.named("text", row[0])["text"] == unseen.STEP_NOT_WANTED:
            subject = spooled.named("text", row[1])["text"]
            counts[subject] = counts.get(subject, 0) + row[2]
    return counts


@pytest.mark.parametrize(
    ("when", "steps"),
    [
        ("request=cmpl-b", [1, 2, 3]),
        ("request=cmpl-[ac]", [0, 1, 3, 4, 5]),
        ("request=cmpl-a|cmpl-c", [0, 1, 3, 4, 5]),
        ("request=cmpl-a and step=1-", [1]),
        ('prompt="bluesky"', [0, 1]),
        ("prompt=blue, request=cmpl-c", [3, 4, 5]),
        ("prompt=blue, request=cmpl-b", []),  # of one request, not of two
        (f"prompt-hash={prompt('b').hash:016x}", [1, 2, 3]),
        ("phase=prefill", [0]),
        ("phase=mixed|prefill", [0, 1, 3]),
        ("request=cmpl-b, phase=decode or step=5", [2, 5]),
        ("step=0|4-5", [0, 4, 5]),
    ],
)
def test_only_steps_that_are_meant_are_recorded(when: str, steps: list[int], tmp_path: Path) -> None:
    spooled = serve(tmp_path, when=when)
    assert recorded(spooled) == steps
    assert sum(left_out(spooled).values()) == len(BATCHES) - len(steps)
    assert "" not in left_out(spooled)


def test_the_first_step_is_told_and_what_left_others_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spooled = serve(tmp_path, when="request=cmpl-b and phase=decode")
    assert "rank 0: step 2 is the first that fulfils request=cmpl-b, phase=decode\n" in capsys.readouterr().err
    assert left_out(spooled) == {"phase=decode": 3, "request=cmpl-b": 2}


def test_steps_and_conditions_hold_together_and_a_capture_is_recorded_whatever_they_say(tmp_path: Path) -> None:
    def before(step: int) -> None:
        if step == 3:
            asking.ask(next(tmp_path.iterdir()), 7, do="capture", level="L0", steps=1, when="phase=decode")

    spooled = serve(tmp_path, before=before, when="request=cmpl-a", steps="1-")
    assert recorded(spooled) == [1, 4]
    assert asking.answer(spooled.folder)[:3] == (7, layout.RECORDING, 4)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"when": "requst=a"}, "when: at character 1: requst is no condition: do you mean request?"),
        ({"when": "difference"}, "when: want a text of conditions, and no difference, for which there is tensortap watch --capture"),
        ({"when": 7}, "when: want a text of conditions"),
    ],
)
def test_a_capture_whose_condition_cannot_be_read_is_refused(asked: dict[str, Any], told: str, tmp_path: Path) -> None:
    def before(step: int) -> None:
        if step == 1:
            asking.ask(next(tmp_path.iterdir()), 7, do="capture", **asked)

    _, outcome, _, _, text = asking.answer(serve(tmp_path, before=before).folder)
    assert outcome == layout.REFUSED and told in text


def test_a_request_that_never_came_is_told_with_those_that_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spooled = serve(tmp_path, when="request=cmpl-7")
    sentence = "nothing is recorded: no step fulfilled request=cmpl-7; 6 steps were left out; 3 requests were seen, nearest cmpl-"
    assert sentence in capsys.readouterr().err
    (row,) = [row for kind, row in spooled.rows if kind == "unseen" and spooled.named("text", row[0])["text"] == unseen.CONDITION]
    assert sentence in spooled.named("text", row[1])["text"]


def test_a_prompt_that_cannot_be_read_means_nothing_and_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def unspeakable(name: str) -> Prompt:
        def read() -> str:
            raise UnreadableError("OSError: no tokenizer.json")

        return prompt_of([ord(name)], read)

    assert recorded(serve(tmp_path, unspeakable, when="prompt=blue")) == []
    assert capsys.readouterr().err.count("prompts cannot be read here, choose by request or prompt-hash: OSError: no tokenizer.json") == 1


def train(spool: Path, losses: Iterable[float], **settings: Any) -> reading.Spooled:
    """Train with these losses, a step each; the weights stay as they are."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with tensortap.tap(model, run="trained", spool=spool, **settings):
        for loss in losses:
            (model(torch.ones(2, 3)).mean() * 0 + loss).backward()
            optimizer.zero_grad()
            optimizer.step()
    return reading.only(spool)


@pytest.mark.parametrize(
    ("losses", "steps"),
    [
        ([1, 2, 11, 12, 3, 4], [3, 4]),
        ([1, math.nan, 3, math.inf, -math.inf, 1], [2, 4]),
        ([10, 10, 10], []),
    ],
)
def test_steps_after_a_loss_over_a_value_are_recorded(losses: list[float], steps: list[int], tmp_path: Path) -> None:
    assert recorded(train(tmp_path, losses, when="loss>10")) == steps


def test_the_highest_loss_is_told_where_none_was_over_the_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(tmp_path, [1, 4.5, 2, 1], when="loss>10")
    assert "no step fulfilled loss>10; 4 steps were left out; the highest loss was 4.5\n" in capsys.readouterr().err


def test_losses_go_by_rank_and_that_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(tmp_path, [1, 11, 2], when="loss>10")
    assert "step 2 is the first that fulfils loss>10; other ranks go by their own" in capsys.readouterr().err


def test_the_greatest_of_micro_steps_counts(tmp_path: Path) -> None:
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    root = nn.Sequential(model)
    with tensortap.tap(root, run="micro", spool=tmp_path, when="loss>10"):
        for losses in ([1, 20, 2], [1, 1, 1], [1, 1, 1]):
            for loss in losses:
                (root(torch.ones(2, 3)) * 0 + torch.tensor([loss, 0.0, 0.0])).sum(dim=0).backward(torch.ones(3))
            optimizer.step()
    assert recorded(reading.only(tmp_path)) == [1]


def test_a_loss_of_a_device_counts_from_the_step_on_at_which_it_has_come(tmp_path: Path) -> None:
    losses = Losses(Guard(unseen.Unseen()))
    come = False
    losses.latest(0)
    losses.expect(lambda: come, torch.tensor(20.0))
    losses.expect(lambda: come, torch.tensor(30.0))  # of a further micro step
    assert losses.latest(1) is None
    losses.expect(lambda: False, torch.tensor(40.0))
    come = True
    assert losses.latest(2) == losses.latest(2) == 30.0


def test_names_of_requests_move_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, batch = small()
    with tensortap.tap(model, run="served", spool=tmp_path, when="request=b") as tap:
        tap.facts = Facts(phase="decode", served=(Request("a\x1b[2J" + "x" * 200, "decode", 1),))
        tap.start()
        model(batch)
        tap.step()
    said = capsys.readouterr().err
    assert "last a?[2Jxxx" in said and "x" * 100 not in said and "\x1b" not in said


@pytest.mark.parametrize(("when", "steps"), [("memory>1", [0, 1]), ("host-memory>1MiB", [0, 1]), ("memory>900TiB", []), ("memory>900TiB or step=1", [1])])
def test_memory_over_a_value(when: str, steps: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded(train(tmp_path, [1, 2], when=when)) == steps
    assert ("the highest memory was " in capsys.readouterr().err) == (not steps)


@pytest.mark.parametrize(("when", "steps"), [("phase=train", [0, 1, 3, 4]), ("phase=evaluate", [2, 5]), ("phase=train, step=3-", [3, 4])])
def test_training_and_evaluation_are_told_apart_as_a_step_begins(when: str, steps: list[int], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tensortap.tap(model, run="phases", spool=tmp_path, when=when):
        for _ in range(2):
            model.train()
            for _ in range(2):
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                model(torch.ones(2, 3))
    assert recorded(reading.only(tmp_path)) == steps


def test_a_program_that_serves_nobody_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded(train(tmp_path, [1, 2], when="request=a")) == []
    said = capsys.readouterr().err
    assert said.count("steps of this program serve no requests that are known") == 1 and "no request was seen" in said


def test_a_budget_holds_for_the_steps_that_are_meant(tmp_path: Path) -> None:
    spooled = train(tmp_path, [1.0] * 40, when="step=10-", budget="0.001%")
    assert recorded(spooled) == [10]
    assert left_out(spooled) == {"step=10-": 10}
    budget = [row[2] for kind, row in spooled.rows if kind == "unseen" and spooled.named("text", row[0])["text"] == unseen.BUDGET]
    assert sum(budget) == 29


def test_results_are_those_of_an_untapped_run_and_nothing_stays(tmp_path: Path) -> None:
    before = torch.autograd.Variable._execution_engine.run_backward, torch.autograd.graph._engine_run_backward, torch._tensor.Tensor.backward
    train(tmp_path, [1, 20, 3], when="loss>10 and memory>1")
    assert (torch.autograd.Variable._execution_engine.run_backward, torch.autograd.graph._engine_run_backward, torch._tensor.Tensor.backward) == before


def test_a_child_has_its_own_conditions(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3))
    with tensortap.tap(model, run="forks", spool=tmp_path, when="loss>10 or memory>900TiB"):
        (model(torch.ones(2, 3)).mean() * 0 + 20).backward()
        model(torch.ones(2, 3))
        child = os.fork()
        if not child:
            for _ in range(3):  # the parent's loss is none of this process
                model(torch.ones(2, 3))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        model(torch.ones(2, 3))
    spools = [reading.read(path) for path in tmp_path.iterdir() if path.is_dir()]
    assert sorted(len(recorded(spooled)) for spooled in spools) == [0, 2]


@pytest.mark.parametrize(("when", "steps"), [("phase=prefill", [0, 4]), ("phase=decode, step=2-", [2, 3, 5, 6, 7])])
def test_the_phase_of_a_generation_is_known_as_a_step_begins(when: str, steps: list[int], tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "e2e" / "collector" / "testdata" / "plain_generate.py"
    twice = f"{script.read_text()}\nmodel.generate(torch.arange(5).unsqueeze(0), max_new_tokens=4, do_sample=False)\n"
    source = Path(__file__).parents[1] / "src" / "tensortap"
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", "TENSORTAP_RUN": "r", "TENSORTAP_WHEN": when, "TENSORTAP_SPOOL": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join((str(source.parent), str(source.parents[1] / "boot")))
    done = subprocess.run([sys.executable, "-c", twice], env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert recorded(reading.only(tmp_path)) == steps
