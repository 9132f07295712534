"""What is asked of a process while it trains: at a step's boundary, for some steps, and the model does not notice."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import asking
import pytest
import reading
import torch
from models import small
from torch import Tensor

import tensortap
from tensortap._config.settings import CHOICES, Level
from tensortap._health import thread_stacks
from tensortap._record.served_requests import Prompt, Request, UnreadableError, client_name, prompt_of
from tensortap._session import control, moments
from tensortap._session.control import together
from tensortap._session.step_boundaries import Facts
from tensortap._spool import layout

STEPS = 8
WANTED = (3, 5, 6)  # of those that serve requests, the steps of the one that is asked for
Before = Callable[[int, Path], None]


def _train(spool: Path | None, before: Before = lambda step, folder: None, **settings: Any) -> list[Tensor]:
    """Train, and call before with each step's number and the process's folder once that is there."""
    model, batch = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    with tensortap.tap(model, run="asked", spool=spool, enabled=spool is not None, **settings) as tap:
        for step in range(STEPS):
            if step and spool:
                before(step, _folder(spool))
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            torch.autograd.backward(loss)
            optimizer.step()
            tap.step()
            losses.append(loss.detach())
    return losses


def _folder(spool: Path) -> Path:
    return next(path for path in spool.iterdir() if (path / "header").exists())


def _answered(folder: Path, sequence: int) -> tuple[int, int]:
    """Outcome and step, once they are told; by the thread of the heartbeat maybe."""
    limit = time.monotonic() + 120
    while asking.answer(folder)[0] != sequence and time.monotonic() < limit:
        time.sleep(0.01)
    said, outcome, step, _, _ = asking.answer(folder)
    assert said == sequence
    return outcome, step


def _once(at: int, **request: Any) -> Before:
    def before(step: int, folder: Path) -> None:
        if step == at:
            asking.ask(folder, 7, **request)

    return before


def _apis(spool: Path) -> dict[int, set[str | None]]:
    """By step, the modules that recorded APIs were called in."""
    steps = reading.read(_folder(spool)).steps
    return {step.number: {step.parents[name] for name in step.begun if not name.startswith("Module.") and ".forward" in name} for step in steps}


def _modules(spool: Path) -> dict[int, int]:
    steps = reading.read(_folder(spool)).steps
    return {step.number: sum(name.startswith("Module.") and name.endswith(".forward.0") for name in step.completed) for step in steps}


def test_two_steps_have_more_within_the_scope_and_then_all_is_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _once(3, do="capture", level="mix", steps=2, scope=["blocks.1"], requests=[])
    losses = _train(tmp_path, before)
    assert all(torch.equal(one, other) for one, other in zip(losses, _train(None), strict=True))
    apis, modules = _apis(tmp_path), _modules(tmp_path)
    assert {step for step, parents in apis.items() if parents} == {3, 4}
    assert {parent for step in (3, 4) for parent in apis[step] if parent} >= {"Module.blocks.1.up.Linear.forward.0"}
    assert all(parent is None or parent.startswith("Module.blocks.1.") for step in (3, 4) for parent in apis[step])
    assert set(modules.values()) == {modules[0]} and modules[0] > 10  # those outside the scope stay, too
    assert asking.answer(_folder(tmp_path))[:3] == (7, layout.RECORDING, 3)
    assert capsys.readouterr().err.count("2 steps are recorded at level mix of blocks.1 from step 3 on") == 1


@pytest.mark.parametrize(
    ("base", "asked", "added"),
    [("L0", "L1", "Functional"), ("L0", "aten", "Aten"), ("L1", "mix", "Module"), ("debug", "L0", "Module")],
)
def test_every_level_can_be_added_to_another(base: str, asked: str, added: str, tmp_path: Path) -> None:
    _train(tmp_path, _once(3, do="capture", level=asked, steps=1, scope=["blocks.1"]), level=base)
    steps = reading.read(_folder(tmp_path)).steps
    assert {step.number for step in steps if any(name.startswith(f"{added}.") for name in step.begun)} == {3}


def test_a_scope_that_no_module_fits_is_refused_with_the_nearest(tmp_path: Path) -> None:
    _train(tmp_path, _once(3, do="capture", level="mix", steps=2, scope=["blokcs.1"], requests=[]))
    sequence, outcome, step, _, text = asking.answer(_folder(tmp_path))
    assert (sequence, outcome, step) == (7, layout.REFUSED, 3)
    assert "blokcs.1: no module has such a path; do you mean blocks.1?" in text
    assert not any(_apis(tmp_path).values())


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"do":"rm -rf"}', b'{"do":"capture","steps":-1}', b'{"do":"capture","steps":"2"}',
     b'{"do":"capture","scope":"all"}', b'{"do":"capture","folder":3}', b'{"do":"capture","level":"L9"}', b'{"do":"capture","what":1}', b'{"do":"capture","prompts":["x"]}',
     b'{"do":' * 200, b'{"do":["capture"]}', b"[" * 1500, b'{"do":"capture","scope":["\\ud800"]}'],
    ids=range(17),
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_refused(text: bytes, tmp_path: Path) -> None:
    def before(step: int, folder: Path) -> None:
        if step == 2:
            asking.write(folder, 9, text)

    _train(tmp_path, before)
    assert asking.answer(_folder(tmp_path))[:2] == (9, layout.REFUSED)
    assert not any(_apis(tmp_path).values()) and len(_modules(tmp_path)) == STEPS
    assert not any(reason == "hook error" for step in reading.read(_folder(tmp_path)).steps for reason, _ in step.unseen)


@pytest.mark.parametrize(
    ("name", "client"),
    [
        ("cmpl-a-0-0a1b2c3d", "cmpl-a"),
        ("1_cmpl-a-2-12-0a1b2c3d", "cmpl-a-2"),
        ("chatcmpl-a-0a1b2c3d", "chatcmpl-a"),
        ("2_chatcmpl-a-0a1b2c3d", "chatcmpl-a"),
        ("9b9c08992f594966b620616004c25bad", "9b9c08992f594966b620616004c25bad"),
        ("550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
    ],
)
def test_a_request_is_meant_by_the_name_that_its_client_got(name: str, client: str) -> None:
    assert client_name(name) == client
    fits = moments._named([client])
    assert fits(Request(name, "decode", 1, 3, None)) and not fits(Request("cmpl-other-0-0a1b2c3d", "decode", 1, 3, None))


def test_what_an_agent_tells_is_said_and_with_final_nothing_more_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def before(step: int, folder: Path) -> None:
        if step in (2, 4):
            asking.ask(folder, 10 + step, do="tell", text=f"told {step}", final=step == 4)
            deadline = time.monotonic() + 60
            while asking.answer(folder)[0] != 10 + step:
                assert time.monotonic() < deadline, "nothing is answered"
                time.sleep(0.02)

    _train(tmp_path, before)
    said = capsys.readouterr().err
    assert "told 2" in said and "told 4" in said
    assert len(_modules(tmp_path)) == 4


def test_a_capture_that_waits_is_not_answered_over_a_later_request(tmp_path: Path) -> None:
    answers = []

    def before(step: int, folder: Path) -> None:
        answers.append(asking.answer(folder)[:2])
        if step == 2:
            asking.ask(folder, 7, do="capture", level="mix", steps=1, when=f"step={STEPS - 2}")
        if step == 4:
            asking.ask(folder, 8, do="trace", seconds=0.01, rate=10, folder=str(tmp_path / "kept"))
            _answered(folder, 8)

    spool = tmp_path / "spool"
    _train(spool, before)
    assert answers[2] == (7, layout.AWAITING) and answers[4] == (8, layout.TRACING)
    assert {step for step, parents in _apis(spool).items() if parents} == {STEPS - 2}
    assert asking.answer(_folder(spool))[:2] == (8, layout.TRACING), "the agent waits for the answer to its newest request"


def test_a_capture_that_another_request_overtook_is_answered_when_it_is_asked_again_and_followed_once(tmp_path: Path) -> None:
    answers = []
    capture = {"do": "capture", "level": "mix", "steps": 1, "when": "step=2 or step=5"}

    def before(step: int, folder: Path) -> None:
        if step == 1:
            asking.ask(folder, 7, **capture)
        if step == 2:
            asking.ask(folder, 8, do="trace", seconds=0.01, rate=10, folder=str(tmp_path / "kept"))
            _answered(folder, 8)
        if step == 3:
            asking.ask(folder, 7, **capture)
            answers.append(_answered(folder, 7))

    _train(tmp_path / "spool", before)
    assert answers == [(layout.RECORDING, 2)]
    assert {step for step, parents in _apis(tmp_path / "spool").items() if parents} == {2}


def test_a_capture_whose_place_another_takes_is_told_so(tmp_path: Path) -> None:
    answers = []

    def before(step: int, folder: Path) -> None:
        if step in (1, 3):
            asking.ask(folder, 6 + step, do="capture", level="mix", steps=1, when=f"step={2 + step}")
        if step == 4:
            asking.ask(folder, 7, do="capture", level="mix", steps=1, when="step=3")
            answers.append(_answered(folder, 7)[0])
            answers.append(asking.answer(folder)[4])

    _train(tmp_path, before)
    assert answers == [layout.REFUSED, "a later request took its place before a step was recorded for it"]
    assert {step for step, parents in _apis(tmp_path).items() if parents} == {5}


def test_a_request_that_raises_in_our_code_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(text: bytes) -> None:
        raise TypeError("odd")

    monkeypatch.setattr(control, "read", raises)
    _train(tmp_path, _once(2, do="stop"))
    assert asking.answer(_folder(tmp_path))[:2] == (7, layout.REFUSED)
    assert "an error of the collector: TypeError: odd" in asking.answer(_folder(tmp_path))[4]
    assert len(_modules(tmp_path)) == STEPS


def test_a_request_that_is_half_written_is_waited_for(tmp_path: Path) -> None:
    whole = b'{"do":"capture","level":"mix","steps":1}'

    def before(step: int, folder: Path) -> None:
        if step in (2, 3):
            asking.write(folder, 9, whole, checksum=1)
        if step == 5:
            asking.write(folder, 9, whole)

    _train(tmp_path, before)
    assert {step for step, parents in _apis(tmp_path).items() if parents} == {5}


def test_what_is_stopped_goes_on_when_asked_and_single_steps_can_be_captured_meanwhile(tmp_path: Path) -> None:
    asked = {
        2: (1, {"do": "stop"}),
        4: (2, {"do": "capture", "level": "mix", "steps": 1, "scope": ["blocks.1"]}),
        6: (3, {"do": "resume"}),
    }
    outcomes = []

    def before(step: int, folder: Path) -> None:
        outcomes.append(asking.answer(folder)[1:3])
        if step in asked:
            asking.ask(folder, asked[step][0], **asked[step][1])

    _train(tmp_path, before)
    modules = _modules(tmp_path)
    assert sorted(modules) == [0, 1, 4, 6, 7]
    assert 0 < modules[4] < modules[0] == modules[6]
    assert outcomes[2] == (layout.STOPPED, 2) and outcomes[4] == (layout.RECORDING, 4) and outcomes[6] == (layout.RESUMED, 6)


@pytest.mark.parametrize("asked", [{"requests": ["chat-*"]}, {"prompts": [7]}, {"texts": ["Hello"]}], ids=["id", "hash", "text"])
def test_a_program_that_serves_nobody_waits_for_no_request(asked: dict[str, Any], tmp_path: Path) -> None:
    _train(tmp_path, _once(2, do="capture", level="mix", steps=1, **asked))
    sequence, outcome, step, _, text = asking.answer(_folder(tmp_path))
    assert (sequence, outcome, step) == (7, layout.REFUSED, 2) and "ask for its next steps" in text
    assert not any(_apis(tmp_path).values())


def _serve(spool: Path, prompt: Callable[[int], Prompt], **asked: Any) -> None:
    """Serve a request of its own in each step, whose prompts are told by their numbers, and ask as step 1 begins."""
    model, batch = small()
    tap = tensortap.tap(model, run="asked", spool=spool)
    for step in range(STEPS):
        if step == 1:
            asking.ask(_folder(spool), 5, do="capture", steps=2, **asked)
        name = "chat-2" if step in WANTED else "other"
        tap.facts = Facts(served=(Request(name, "decode", 1, prompt=prompt(7 if step in WANTED else 8)),))
        tap.start()
        model(batch)
        tap.step()
    tap.close()


def _spoken(token: int) -> Prompt:
    return prompt_of([token], lambda: f"<s>user\n What is  {token}\N{BLACK HEART SUIT} of 10 ?</s>")


@pytest.mark.parametrize(
    "asked",
    [{"requests": ["chat-[12]"]}, {"prompts": [prompt_of([7]).hash]}, {"texts": ["never said", "is 7\N{BLACK HEART SUIT}\nof 10?"]}],
    ids=["id", "hash", "text"],
)
def test_steps_that_serve_such_a_request_are_recorded(asked: dict[str, Any], tmp_path: Path) -> None:
    _serve(tmp_path, _spoken, **asked)
    assert {step for step, parents in _apis(tmp_path).items() if parents} == set(WANTED[:2])
    assert asking.answer(_folder(tmp_path))[:3] == (5, layout.RECORDING, WANTED[0])


def _unspeakable(token: int) -> Prompt:
    def read() -> str:
        raise UnreadableError("OSError: no tokenizer.json")

    return prompt_of([token], read)


@pytest.mark.parametrize(
    ("prompt", "text", "reason"),
    [
        (_unspeakable, "Hello", "prompts cannot be read here, choose by request or prompt-hash: OSError: no tokenizer.json"),
        (lambda token: prompt_of([token]), "Hello", "nothing here turns tokens into text"),
        (_spoken, " \n", "every prompt holds a text of white space alone"),
    ],
    ids=["no tokenizer", "no engine", "no text"],
)
def test_a_text_that_cannot_be_looked_for_is_refused(prompt: Callable[[int], Prompt], text: str, reason: str, tmp_path: Path) -> None:
    _serve(tmp_path, prompt, texts=[text])
    sequence, outcome, _, _, said = asking.answer(_folder(tmp_path))
    assert (sequence, outcome) == (5, layout.REFUSED) and reason in said
    assert not any(_apis(tmp_path).values())


def test_no_prompt_is_read_before_one_is_asked_for(tmp_path: Path) -> None:
    _serve(tmp_path, _unspeakable, requests=["chat-*"])
    assert asking.answer(_folder(tmp_path))[:2] == (5, layout.RECORDING)


@pytest.fixture
def free_signal() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGUSR1, before)


def _signals(at: int) -> Before:
    def before(step: int, folder: Path) -> None:
        if step == at:
            os.kill(os.getpid(), signal.SIGUSR1)

    return before


@pytest.mark.usefixtures("free_signal")
def test_a_signal_asks_for_detail_of_two_steps(tmp_path: Path) -> None:
    _train(tmp_path, _signals(3), signal="USR1")
    assert {step for step, parents in _apis(tmp_path).items() if parents} == {3, 4}
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


@pytest.mark.usefixtures("free_signal")
def test_no_signal_is_taken_unasked(tmp_path: Path) -> None:
    held = []
    _train(tmp_path, lambda step, folder: held.append(signal.getsignal(signal.SIGUSR1)))
    assert set(held) == {signal.SIG_DFL}


@pytest.mark.usefixtures("free_signal")
def test_a_handler_of_the_application_is_left_alone(tmp_path: Path) -> None:
    caught = []
    signal.signal(signal.SIGUSR1, lambda *_: caught.append(1))
    ours = signal.getsignal(signal.SIGUSR1)
    _train(tmp_path, _signals(3), signal="USR1")
    assert caught == [1] and not any(_apis(tmp_path).values()) and signal.getsignal(signal.SIGUSR1) is ours


@pytest.mark.usefixtures("free_signal")
@pytest.mark.parametrize("at", [-1, 2], ids=["before", "meanwhile"])
def test_a_handler_in_c_is_left_alone(at: int, tmp_path: Path) -> None:
    with (tmp_path / "said").open("w+") as said:

        def before(step: int, folder: Path) -> None:
            if step == at:
                faulthandler.register(signal.SIGUSR1, said)

        if at < 0:
            faulthandler.register(signal.SIGUSR1, said)
        spool = tmp_path / "spool"
        _train(spool, before, signal="USR1")
        os.kill(os.getpid(), signal.SIGUSR1)  # would end this process if the handler were gone
        faulthandler.unregister(signal.SIGUSR1)
        said.seek(0)
        assert "Current thread" in said.read() and not any(_apis(spool).values())


def test_where_a_process_hangs_is_told(tmp_path: Path) -> None:
    def hang_here(folder: Path) -> None:
        asking.poke(folder, 41)
        limit = time.monotonic() + 120
        while asking.answer(folder)[3] != 41 and time.monotonic() < limit:
            time.sleep(0.05)

    _train(tmp_path, lambda step, folder: hang_here(folder) if step == 2 else None)
    told = (_folder(tmp_path) / "stacks").read_text()
    first = told.split("\n\n")[0].splitlines()
    assert first[0] == "thread MainThread"
    assert "hang_here" in first[1] and str(Path(__file__)) in first[1] and "_train" in told
    assert "tensortap heartbeat" not in told  # which writes it


def test_where_threads_were_is_not_told_as_where_they_are(tmp_path: Path) -> None:
    told = tmp_path / "stacks"
    told.write_text("thread MainThread\n  then.py:1 then\n")
    told.with_suffix(".new").mkdir()  # as a disk that is full, no file can be written
    thread_stacks.write(told)
    assert not told.exists()


@pytest.mark.parametrize("asked", CHOICES["level"])
@pytest.mark.parametrize("base", CHOICES["level"])
def test_two_levels_are_recorded_by_one_that_both_are_within(base: Level, asked: Level) -> None:
    least = {"debug", "tokens"}  # rows of tokens give way to all that records more
    within = {"debug": {"debug"}, "tokens": least, "L0": least | {"L0"}, "L1": least | {"L1"}, "mix": least | {"L0", "L1", "mix"}, "aten": set(CHOICES["level"])}
    assert {base, asked} <= within[together(base, asked)]
    assert together(base, asked) == together(asked, base)


def test_a_level_without_an_extent_is_above_none() -> None:
    with pytest.raises(KeyError):
        together("mix", cast(Level, "L9"))
