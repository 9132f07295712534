"""Names without what frameworks put around modules, and the phases of generate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed._composable.fsdp import fully_shard
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

from tensortap._record.model_roots import FoundRoots, Roots
from tensortap.integrations import generic, huggingface_generate
from tests.models import Block, Small, tiny_llama
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
    roots = FoundRoots()
    roots.add(model)
    return [(part.path, part.kind) for part in roots.parts()]


def paths_of_all(model: nn.Module) -> list[tuple[str, str]]:
    return [(path, type(module).__name__) for path, module in model.named_modules() if module is not model]


def test_a_wrapped_model_has_the_names_of_the_model() -> None:
    """As by DistributedDataParallel around torch.compile, with a part that is sharded."""
    inner = Small()
    inner.blocks[1] = Around("_fsdp_wrapped_module", inner.blocks[1])
    wrapped = Around("module", Around("_orig_mod", inner))
    assert [part.path for part in Roots(wrapped).parts()][0] == "module"  # that a tap in the code was given
    assert paths(wrapped) == paths(Small()) == paths_of_all(Small())


def test_modules_that_are_named_like_wrappers_stay() -> None:
    model = nn.Sequential(Small())
    model.module = nn.Linear(2, 2)
    model.module.shared = model[0].head
    assert paths(model) == paths_of_all(model)


def test_a_part_that_adds_to_the_module_that_it_holds_stays() -> None:
    model = nn.Sequential(Around("module", nn.Linear(2, 2)))
    assert paths(model) == [("0", "Around"), ("0.module", "Linear")]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """A job of one rank."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def _sharded_within(model: nn.Module) -> nn.Module:
    mesh = init_device_mesh("cpu", (1,))
    for block in model.blocks:  # type: ignore[union-attr]
        fully_shard(block, mesh=mesh)  # type: ignore[arg-type]
    fully_shard(model, mesh=mesh)
    return model


def _checkpointed(model: nn.Module) -> nn.Module:
    apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, Block))
    return model


WRAPPED: dict[str, Callable[[nn.Module], nn.Module]] = {
    "DistributedDataParallel": DistributedDataParallel,
    "DataParallel": nn.DataParallel,
    "compile": lambda model: torch.compile(model, backend="eager"),  # type: ignore[return-value]
    "checkpoint_wrapper": _checkpointed,
    "DistributedDataParallel of checkpoint_wrapper": lambda model: DistributedDataParallel(_checkpointed(model)),
    "compile of DistributedDataParallel": lambda model: torch.compile(DistributedDataParallel(model), backend="eager"),  # type: ignore[return-value]
    "FullyShardedDataParallel": lambda model: FullyShardedDataParallel(model, device_id=torch.device("cpu")),
    "fully_shard": _sharded_within,
    "fully_shard of checkpoint_wrapper": lambda model: _sharded_within(_checkpointed(model)),
    "AveragedModel": torch.optim.swa_utils.AveragedModel,
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED.keys())
def test_names_are_those_of_the_model_in_each_of_torchs_wrappers(group: None, wrap: Callable[[nn.Module], nn.Module]) -> None:
    wrapped = wrap(Small())
    assert [type(module) for module in wrapped.modules()] != [type(module) for module in Small().modules()]
    assert paths(wrapped) == paths_of_all(Small())


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The environment of a launched program, in which transformers was imported."""
    from transformers.generation import utils

    monkeypatch.setenv("TENSORTAP_RUN", "generated")
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setattr(utils.GenerationMixin, "generate", utils.GenerationMixin.generate)
    finder = generic.Finder()
    monkeypatch.setattr(generic, "_finders", [finder])
    huggingface_generate.attach(utils)
    huggingface_generate.attach(utils)  # by another way in
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
