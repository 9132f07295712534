"""Programs with several models, at once or one after another, without a tap in their code."""

from __future__ import annotations

import copy
import gc
import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import ref

import pytest
import torch
from torch import Tensor, nn

from tensortap._record import module_calls
from tensortap._session.step_boundaries import Facts
from tensortap.integrations import generic, huggingface_generate, sglang, vllm
from tensortap.integrations.served import Rank, Served
from tensortap.integrations.served import Step as Serving
from tests.reading import Step, only

pytestmark = pytest.mark.usefixtures("asked")


class Net(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.outer = nn.Linear(4, 4)

    def forward(self, given: Tensor) -> Tensor:
        """One after the other."""
        answer: Tensor = self.outer(self.inner(given))
        return answer


class Critic(nn.Module):
    """Another class."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = nn.Linear(4, 1)

    def forward(self, given: Tensor) -> Tensor:
        """A score."""
        score: Tensor = self.judge(given)
        return score


GIVEN = torch.ones(1, 4)


def modules(steps: list[Step]) -> list[list[str]]:
    """The paths of the modules that were called in each step."""
    return [[name.split(".Linear.")[0].removeprefix("Module.") for name in step.begun if ".forward." in name] for step in steps]


@pytest.mark.parametrize("level", ["L0", "L1", "mix", "aten"])
def test_models_one_after_another_are_given_back(level: str, finder: generic.Finder, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORTAP_LEVEL", level)
    for _ in range(5):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(GIVEN).sum().backward()
        optimizer.step()
        held = ref(model), ref(model.inner.weight)
        del model, optimizer
        gc.collect()
        assert [one() for one in held] == [None, None]
    assert len(only(asked).steps) == 5


def test_a_model_after_another_has_a_name_and_steps_of_its_own(finder: generic.Finder, asked: Path) -> None:
    for kind in (Net, Critic, Net, Net):
        model = kind()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(GIVEN).sum().backward()
            optimizer.step()
        del model, optimizer
        gc.collect()
    found = modules(only(asked).steps)
    assert found[::2] == [["inner", "outer"], ["Critic.judge"], ["Net.1.inner", "Net.1.outer"], ["Net.2.inner", "Net.2.outer"]]
    assert found[1::2] == found[::2]


def test_names_do_not_depend_on_when_memory_is_given_back(finder: generic.Finder, asked: Path) -> None:
    """A model that nobody can reach lives until the next collection of garbage, whose time is another in each run."""
    for collects in (False, True, False):
        model = Net()
        model.__dict__["itself"] = model
        with torch.no_grad():
            model(GIVEN)
        del model
        if collects:
            gc.collect()
    (step,) = modules(only(asked).steps)
    assert step[::2] == ["inner", "Net.1.inner", "Net.2.inner"]


def test_two_models_that_train_against_each_other(finder: generic.Finder, asked: Path) -> None:
    """Each optimizer's step ends a step of the run."""
    generator, critic = Net(), Critic()
    of_critic, of_generator = (torch.optim.SGD(model.parameters(), lr=0.1) for model in (critic, generator))
    for _ in range(2):
        (critic(GIVEN) - critic(generator(GIVEN).detach())).sum().backward()
        of_critic.step()
        (-critic(generator(GIVEN))).sum().backward()
        of_generator.step()
    steps = only(asked).steps
    of_critic_step, of_generator_step = ["judge", "Net.inner", "Net.outer", "judge"], ["Net.inner", "Net.outer", "judge"]
    assert modules(steps) == [of_critic_step, of_generator_step] * 2
    assert [len(step.micro_steps) for step in steps] == [2, 1, 2, 1]
    assert all(not step.unseen for step in steps)


def test_a_teacher_and_its_student(finder: generic.Finder, asked: Path) -> None:
    """A second model's call belongs to the step that is under way."""
    teacher, student = Net().eval(), Net()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        with torch.no_grad():
            wanted = teacher(GIVEN)
        (student(GIVEN) - wanted).square().sum().backward()
        optimizer.step()
    steps = only(asked).steps
    assert modules(steps) == [["inner", "outer", "Net.1.inner", "Net.1.outer"]] * 3
    spooled = only(asked)
    assert [spooled.named("text", step.ended[8])["text"] for step in steps if step.ended] == ["train", "train"]


def test_a_target_that_is_called_twice_in_a_step_that_trains(finder: generic.Finder, asked: Path) -> None:
    online, target = Net(), Net()
    optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
    for _ in range(2):
        views = [online(GIVEN), online(GIVEN)]
        with torch.no_grad():
            wanted = [target(GIVEN), target(GIVEN)]
        sum((one - other).square().sum() for one, other in zip(views, wanted, strict=True)).backward()  # type: ignore[union-attr]
        optimizer.step()
    steps = only(asked).steps
    assert modules(steps) == [["inner", "outer"] * 2 + ["Net.1.inner", "Net.1.outer"] * 2] * 2
    assert [step.micro_steps for step in steps] == [{0, 1}] * 2


@torch.no_grad()
def test_models_that_only_evaluate_make_steps_of_their_own(finder: generic.Finder, asked: Path) -> None:
    """As an encoder and a denoiser do; then another alone."""
    encoder, denoiser, other = Critic(), Net(), Critic()
    for _ in range(2):
        encoder(GIVEN)
        for _ in range(3):
            denoiser(GIVEN)
    for _ in range(3):
        other(GIVEN)
    net, alone = ["Net.inner", "Net.outer"], ["Critic.1.judge"]
    assert modules(only(asked).steps) == [["judge", *net], net, [*net, "judge"], net, net, [*net, *alone], alone, alone]


@torch.no_grad()
def test_what_is_around_a_model_that_is_known_adds_what_is_new(finder: generic.Finder, asked: Path) -> None:
    inner = Net()
    inner(GIVEN)
    around = nn.Sequential(inner, Critic())
    for _ in range(3):
        around(GIVEN)
    whole = ["Sequential.0.Net.forward.0", "inner", "outer", "Sequential.1.Critic.forward.0", "Sequential.1.judge"]
    assert modules(only(asked).steps) == [["inner", "outer", *whole], whole, whole]


@torch.no_grad()
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_each_call_of_a_copy_is_one_step(copied: Callable[[nn.Module], nn.Module], finder: generic.Finder, asked: Path) -> None:
    """A shallow one shares hooks and parts with the model."""
    model = Net()
    model(GIVEN)
    other = copied(model)
    other(GIVEN)
    before = len(only(asked).steps)
    for _ in range(3):
        other(GIVEN)
    names = ["inner", "outer"] if copied is copy.copy else ["Net.1.inner", "Net.1.outer"]
    assert modules(only(asked).steps)[before:] == [names] * 3


@torch.no_grad()
def test_layers_of_a_program_without_a_model(finder: generic.Finder, asked: Path) -> None:
    layers = [nn.Linear(4, 4) for _ in range(3)]
    for _ in range(3):
        given = GIVEN
        for layer in layers:
            given = layer(given)
    steps = only(asked).steps
    names = [[name for name in step.begun if ".forward." in name] for step in steps]
    assert names[0] == [] and steps[0].unseen["another model", "Linear"] == 3  # their first calls were under way
    linear = [f"Module.{path}.Linear.forward.0" for path in ("Linear", "Linear.1", "Linear.2")]
    assert names[1:] == [linear] * 2


@torch.no_grad()
def test_models_that_others_call_without_holding_them(finder: generic.Finder, asked: Path) -> None:
    """A loss calls its model, which hides another from its own parameters, and is given a new head."""

    class Hiding(Net):
        hidden = (Critic(),)

        def forward(self, given: Tensor) -> Tensor:
            return super().forward(given) + self.hidden[0](given)

    class Loss(nn.Module):
        def forward(self, model: nn.Module) -> Tensor:
            loss: Tensor = model(GIVEN).sum()
            return loss

    model, loss = Hiding(), Loss()
    for _ in range(3):
        loss(model)
    model.outer = nn.Sequential(nn.Linear(4, 4))
    for _ in range(2):
        loss(model)
    before, after = ["inner", "outer", "Critic.judge"], ["inner", "outer.Sequential.forward.0", "outer.0", "Critic.judge"]
    steps = only(asked).steps
    assert modules(steps) == [before, before, before, ["inner", "outer.0", "Critic.judge"], after]
    assert steps[3].unseen["another model", "Sequential"] == 1  # its first call was under way when it was found


@torch.no_grad()
def test_models_beyond_the_limit_are_counted(finder: generic.Finder, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "MOST_MODELS", 2)
    models = [Net(), Net(), Critic()]
    for _ in range(2):
        for model in models:
            model(GIVEN)
    steps = only(asked).steps
    assert modules(steps)[0] == ["inner", "outer", "Net.1.inner", "Net.1.outer"]
    assert steps[0].unseen["another model", "Critic"] == 1


def test_threads_that_call_their_first_models_at_once_make_one_tap(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two threads calls a model of its own, and then both the same."""
    made = []
    original = generic.session.Session

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(generic.session, "Session", counted)
    for shared in (False, True):
        made.clear()
        finder = generic.Finder()
        models = [Net()] * 4 if shared else [Net() for _ in range(4)]
        call_at_once(models)
        finder.stop()
        assert len(made) == 1 and len(list(finder._roots)) == (1 if shared else 4)
        assert finder._session is not None
        finder._session.close()


def call_at_once(models: Sequence[nn.Module]) -> None:
    """Let each be called by a thread of its own."""
    barrier = threading.Barrier(len(models))

    def call(model: nn.Module) -> None:
        barrier.wait()
        model(GIVEN)

    started = [threading.Thread(target=call, args=(model,)) for model in models]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


@torch.no_grad()
def test_a_child_whose_parent_was_looking_finds_its_own_models(finder: generic.Finder) -> None:
    """The lock is another thread's, which the child has not."""
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with finder._lock:
            locked.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait()
    child = os.fork()
    if not child:
        signal.alarm(30)
        Net()(GIVEN)
        os._exit(0 if finder._session else 1)
    done.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@torch.no_grad()
def test_what_gets_the_memory_of_a_part_that_is_gone_has_not_its_path(finder: generic.Finder, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORTAP_LEVEL", "aten")

    class Part(nn.Module):  # one class: the memory of an object is of its size
        def __init__(self, computes: Callable[[Tensor], Tensor]) -> None:
            super().__init__()
            self.computes = computes

        def forward(self, given: Tensor) -> Tensor:
            return self.computes(given)

    Critic()(GIVEN)
    model = nn.Sequential(nn.Linear(4, 4), *(Part(torch.relu) for _ in range(300)))
    model(GIVEN)
    known = set(map(id, model))
    del model
    gc.collect()
    tried = [Part(torch.tan)]
    while id(tried[-1]) not in known:
        tried.append(Part(torch.tan))
        assert len(tried) < 10_000, "nothing got that memory"
    tried[-1](GIVEN)
    finder.stop()
    assert finder._session is not None
    finder._session.close()
    spooled = only(asked)
    paths = {spooled.named("signature", call[0])["name"]: spooled.named("text", call[1])["text"] if call[1] else "" for call in spooled.steps[0].calls}
    assert (paths["aten.relu.default"], paths["aten.tan.default"]) == ("Sequential.1", "")


@torch.no_grad()
def test_a_frame_that_is_no_modules_call_is_no_call_of_a_model_that_is_gone(finder: generic.Finder, asked: Path) -> None:
    Critic()(GIVEN)
    gc.collect()
    model = Net()

    def _call_impl() -> None:
        model(GIVEN)

    for _ in range(3):
        _call_impl()
    net = ["Net.inner", "Net.outer"]
    assert modules(only(asked).steps) == [["judge", *net], net, net]


@torch.no_grad()
def test_parts_that_are_compiled_are_counted_once_in_each_step(finder: generic.Finder, asked: Path) -> None:
    model = Net()
    model.inner.compile(backend="eager")
    model(GIVEN)
    around = nn.Sequential(model, nn.Linear(4, 4))
    for _ in range(3):
        around(GIVEN)
    assert [step.unseen for step in only(asked).steps] == [{("compiled", "inner"): 1}] * 2 + [{}]


@torch.no_grad()
def test_what_generates_says_nothing_of_steps_of_other_models(finder: generic.Finder, asked: Path) -> None:
    encoder, denoiser = Net(), Critic()
    tapped = finder.expect(encoder)
    assert tapped is not None
    generation = huggingface_generate.Generation(tapped)
    tapped.undo_too(module_calls.before(encoder, generation.ahead, with_kwargs=True, first=True))
    tapped.undo_too(module_calls.before(encoder, generation.before, with_kwargs=True))
    with generation.under_way():
        encoder(GIVEN)
    for _ in range(3):
        denoiser(GIVEN)
    spooled = only(asked)
    phases = [spooled.named("text", step.ended[8])["text"] for step in spooled.steps if step.ended]
    assert phases == ["prefill", "train"]


@torch.no_grad()
def test_a_model_that_drafts_for_an_engines_model_is_counted(asked: Path) -> None:
    model, draft = Net().eval(), Critic()
    served = Served(model, Rank(0))
    sglang._taps.add(served)
    served.begin(Serving(Facts(phase="decode", tokens=1, requests=1)))
    assert sglang._begin(SimpleNamespace(is_draft_worker=True, model=draft), (None,), {}) is None
    model(GIVEN)
    served.end()
    assert vllm._drafting(SimpleNamespace(drafter=SimpleNamespace(model=draft))) is draft
    assert vllm._drafting(SimpleNamespace(speculator=SimpleNamespace(model=draft))) is draft
    assert vllm._drafting(SimpleNamespace(drafter=SimpleNamespace(propose=len))) is None
    served.close()
    (step,) = only(asked).steps
    assert step.unseen == {("another model", "Critic"): 1}
