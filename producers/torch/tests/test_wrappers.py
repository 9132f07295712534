"""Names without what frameworks put around modules, and the phases of generate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tensortap.attach import hf, plain
from tensortap.modules import named_modules
from tensortap.wrappers import below, leave_out
from tests.models import Small, tiny_llama
from tests.reading import Step, only


class Around(nn.Module):
    """A wrapper, by the name under which it holds a module."""

    def __init__(self, name: str, inner: nn.Module) -> None:
        super().__init__()
        self._modules[name] = inner

    def forward(self, given: Tensor) -> Tensor:
        """Call what is inside."""
        answer: Tensor = next(iter(self._modules.values()))(given)  # type: ignore[misc]
        return answer


def paths(model: nn.Module) -> list[tuple[str, str]]:
    return [(path, type(module).__name__) for path, module in named_modules([model])]


def test_a_wrapped_model_has_the_names_of_the_model() -> None:
    """As by DistributedDataParallel around torch.compile, with a part that is sharded."""
    plain_model, inner = Small(), Small()
    inner.blocks[1] = Around("_fsdp_wrapped_module", inner.blocks[1])
    wrapped = Around("module", Around("_orig_mod", inner))
    assert paths(wrapped)[0] == ("module", "Around")
    leave_out(wrapped)
    assert paths(wrapped) == paths(plain_model)


def test_modules_that_are_named_like_wrappers_stay() -> None:
    model = nn.Sequential(Small())
    model.module = nn.Linear(2, 2)
    model.module.shared = model[0].head
    leave_out(model)
    assert [path for path, _ in below(model)] == [path for path, module in model.named_modules() if module is not model]


def test_a_part_that_adds_to_the_module_that_it_holds_stays() -> None:
    model = nn.Sequential(Around("module", nn.Linear(2, 2)))
    leave_out(model)
    assert paths(model) == [("0", "Around"), ("0.module", "Linear")]


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The environment of a launched program, in which transformers was imported."""
    from transformers.generation import utils

    monkeypatch.setenv("TENSORTAP_RUN", "generated")
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setattr(utils.GenerationMixin, "generate", utils.GenerationMixin.generate)
    finder = plain.Finder()
    monkeypatch.setattr(plain, "_finders", [finder])
    hf.attach(utils)
    hf.attach(utils)  # by another way in
    yield tmp_path / "spool"
    finder.stop()
    if finder._session:
        finder._session.close()


def facts(steps: list[Step], spool: Path) -> list[tuple[str, int, int]]:
    """Phase, tokens and requests of each step."""
    texts = only(spool)
    return [(texts.named("text", ended[8])["text"] if ended[8] else "", ended[6] - 1, ended[7] - 1) for step in steps if (ended := step.ended)]


@torch.no_grad()
def test_a_step_of_generate_reads_the_prompt_or_writes_a_token(spool: Path) -> None:
    model, _ = tiny_llama()
    model.eval()
    prompt = torch.arange(14).reshape(2, 7)
    for _ in range(2):
        model.generate(prompt, max_new_tokens=3, do_sample=False, use_cache=True)  # type: ignore[operator]
    model(prompt)
    model(prompt)
    found = facts(only(spool).steps, spool)
    once = [("prefill", 14, 2), ("decode", 2, 2), ("decode", 2, 2)]
    assert found[: len(once) * 2 + 1] == [*once, *once, ("", -1, -1)]
