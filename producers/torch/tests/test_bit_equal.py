"""Trained for twenty steps with a tap and without, a model has the same bits, in each of the ways that programs train."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import reading
import torch
import trainings
from ranks import in_children, on_ranks
from torch.distributed.pipelining import schedules
from trainings import Training

import tensortap

STEPS = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """A way to train, on so many ranks, and an op that its spool must have."""

    make: Callable[[], Training]
    op: str = "Module.blocks.0.up.Linear.forward.0"
    ranks: int = 1


CASES = {
    "DDP": Case(make=trainings.ddp, ranks=2, op="Module.module.blocks.0.up.Linear.forward.0"),
    "FSDP2": Case(make=trainings.fsdp2, ranks=2),
    "DTensor": Case(make=trainings.tensor_parallel, ranks=2),
    "pipeline": Case(make=trainings.pipeline, ranks=2, op="Module.blocks.0.up.Linear.forward.3"),
    "selective checkpointing": Case(make=trainings.selective_checkpointing, op="Module.blocks.1.act.GELU.forward.1"),
    "AMP": Case(make=trainings.amp),
    "gradient penalty": Case(make=trainings.gradient_penalty, op="Module.blocks.0.up.Linear.backward.0"),
}

# Of older versions, as 2.4: the case, where what it needs would be, its name, and what there is instead.
_NEEDS = (
    ("FSDP2", trainings.fsdp, "fully_shard", "has no fully_shard for a CPU"),
    ("pipeline", schedules, "_wait_batch_p2p", "hangs in 1F1B on gloo, since it waits for the last of several transfers alone"),
    ("selective checkpointing", trainings.checkpoint, "create_selective_checkpoint_contexts", "has no selective checkpointing"),
)
LACKING = {case: lacks for case, place, name, lacks in _NEEDS if not hasattr(place, name)}


def _trained(make: Callable[[], Training], spool: Path | None) -> list[bytes]:
    """What is left of a training."""
    torch.manual_seed(11)
    training = make()
    tap = tensortap.tap(training.model, run="bits", level="mix", spool=spool) if spool else None
    for number in range(STEPS):
        training.step(number)
    if tap:
        tap.close()
    return training.bits()


def _is_bit_equal(case: Case, rank: int, spool: Path) -> None:
    """To be run in a child: trains without and with, and looks at what was recorded."""
    without = _trained(case.make, None)
    recorded = _trained(case.make, spool)
    differ = [at for at, (one, other) in enumerate(zip(without, recorded, strict=True)) if one != other]
    assert not differ, f"{len(differ)} of {len(without)} tensors have other bits, the first is {differ[0]}"
    found = reading.only(spool)
    assert [step.number for step in found.steps if step.ended] == list(range(STEPS))
    missed = [step.number for step in found.steps if case.op not in step.completed]
    assert not missed, f"steps without {case.op}: {missed}; the last has {found.steps[-1].completed[:20]}"
    assert not [key for step in found.steps for key in step.unseen if key[0] == "hook error"]


@pytest.mark.parametrize("name", CASES)
def test_training_has_the_same_bits_with_a_tap(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    if name in LACKING:
        pytest.skip(f"PyTorch {torch.__version__} {LACKING[name]}")
    start = on_ranks if case.ranks > 1 else in_children
    start(case.ranks, tmp_path, lambda rank, spool: _is_bit_equal(case, rank, spool))


@pytest.mark.inductor
def test_what_inductor_compiled_has_the_same_bits_with_a_tap(tmp_path: Path) -> None:
    """Compiled code calls no hook, which is counted."""

    def work(rank: int, spool: Path) -> None:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path / "cache")
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        without, recorded = _trained(trainings.compiled, None), _trained(trainings.compiled, spool)
        assert without == recorded
        found = reading.only(spool)
        assert [step.number for step in found.steps if step.ended] == list(range(STEPS))
        assert all(any(reason == "compiled" for reason, _ in step.unseen) for step in found.steps)

    in_children(1, tmp_path, work)
