"""Under a tap memory stays flat, and nothing is left of it; `make soak-torch` is the long form."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import traces
from models import small
from ranks import in_children
from soaking import SETTLED, WORK, Sample, Soaked, soaked

import tensortap


@pytest.mark.parametrize("work", WORK)
def test_nothing_grows_and_nothing_is_left(work: str, tmp_path: Path) -> None:
    """In a child, whose memory is that of no other test."""

    def run(_: int, spool: Path) -> None:
        for level in ("L0", "mix"):
            one = soaked(work, level, 3 * SETTLED, spool / level)
            assert len(one.samples) == 3 and one.samples[-1].segments
            assert not one.left and not one.grew()

    in_children(1, tmp_path, run)


def test_the_walk_finds_what_a_tap_puts_in_place(tmp_path: Path) -> None:
    model, batch = small()
    before = traces.traces(model)
    assert not traces.left(before, traces.traces(model))
    tap = tensortap.tap(model, run="traces", level="mix", spool=tmp_path, signal="USR1")
    model(batch).sum().backward()
    found = " ".join(traces.left(before, traces.traces(model)))
    tap.close()
    del tap
    gc.collect()
    assert not traces.left(before, traces.traces(model))
    places = (
        "objects of _Site",
        "parameter head.weight: _post_accumulate_grad_hooks",
        "torch.distributed.distributed_c10d.all_reduce",
        "torch.optim.optimizer._global_optimizer_pre_hooks",
        "torch.autograd.graph._engine_run_backward",
        "torch.cuda.graphs.CUDAGraph.replay",
        "torch.amp.grad_scaler.GradScaler.step",
        "modes of functions",
        "signal 10",
        "threads",
        "objects of Session",
        "files",
    )
    assert [place for place in places if place not in found] == []


def test_what_grows_is_said() -> None:
    def sample(step: int, tensors: int) -> Sample:
        return Sample(step=step, resident_kb=1, own_kb=1, tensors=tensors, blocks=1, segments=1)

    flat = Soaked(work="training", level="mix", steps=200, samples=[sample(100, 7), sample(200, 7)], left=[])
    grown = Soaked(work="training", level="mix", steps=200, samples=[sample(100, 7), sample(200, 8)], left=[])
    assert not flat.grew() and grown.grew() == ["tensors 8 at step 200, 7 allowed"]
