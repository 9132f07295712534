"""Where in the program a step's ops were called: in which function, in which micro step."""

from __future__ import annotations

from pathlib import Path

import reading
import torch
from torch import nn

import tensortap

GIVEN = torch.ones(4, 3)


class Trainer:
    """Validates first, then trains, as frameworks do."""

    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def validation_step(self) -> None:
        self.model.eval()
        with torch.no_grad():
            self.model(GIVEN)
        self.model.train()

    def training_step(self, micro_steps: int = 1) -> None:
        for part in GIVEN.chunk(micro_steps):
            self.model(part).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def test_a_stack_is_of_the_function_that_called_the_model(tmp_path: Path) -> None:
    trainer = Trainer()
    with tensortap.tap(trainer.model, run="r", level="mix", spool=tmp_path):
        for _ in range(2):
            trainer.validation_step()
            for _ in range(2):
                trainer.training_step()
    steps = reading.only(tmp_path).steps
    assert len(steps) == 6
    for at, step in enumerate(steps):
        called, other = ("validation_step", "training_step") if at % 3 == 0 else ("training_step", "validation_step")
        forward = [frames for name, frames in step.frames.items() if "inear" in name and ".forward" in name]
        assert len(forward) >= 4
        assert all(f"in {called}" in frames and f"in {other}" not in frames for frames in forward), at


def test_stacks_of_a_model_called_from_very_many_places_are_kept_once(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 1))
    with tensortap.tap(model, run="r", spool=tmp_path) as tap:
        for number in range(40):
            exec(compile("\n" * number + "model(GIVEN)", f"place {number}", "exec"), {"model": model, "GIVEN": GIVEN})
            tap.step()
    stacks = [one for one in reading.only(tmp_path).definitions if one["d"] == "stack"]
    assert len(stacks) == 17


def test_every_op_has_its_micro_step(tmp_path: Path) -> None:
    trainer = Trainer()
    with tensortap.tap(trainer.model, run="r", level="mix", spool=tmp_path):
        for _ in range(2):
            trainer.training_step(4)
    steps = reading.only(tmp_path).steps
    assert len(steps) == 2
    for step in steps:
        for micro in range(4):
            for name in (f"Module.0.Linear.forward.{micro}", f"Functional.linear.{2 * micro}.forward", f"Tensor.mean.{micro}.backward"):
                assert step.micro_step[name] == micro, name
        assert step.micro_step["Module.1.Linear.parameters_grad.0"] == 0
