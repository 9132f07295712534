"""What SGLang publishes of each iteration of its scheduler is noted, and published as without us. The module stands for SGLang's, by its names."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

import tensortap
from tensortap.integrations import sglang_metrics


class Struct:
    """A msgspec.Struct as far as anybody sees here."""

    def __init__(self, **fields: object) -> None:
        self.__struct_fields__ = tuple(fields)
        vars(self).update(fields)


def _module(published: list[object]) -> Any:
    class Publisher:
        def publish(self, metrics: object) -> None:
            published.append(metrics)

    module = ModuleType("forward_pass_metrics")
    vars(module)["_FpmPublisherThread"] = Publisher
    return module


def test_each_iteration_is_noted_and_published(tmp_path: Path) -> None:
    published: list[object] = []
    module = _module(published)
    sglang_metrics.attach(module)
    sglang_metrics.attach(module)  # a plug-in may come after the finder
    scheduled = Struct(num_prefill_requests=2, var_prefill_length=0.5)
    message = Struct(version=1, worker_id="w", dp_rank=0, counter_id=0, wall_time=0.25, scheduled_requests=scheduled)
    model = nn.Linear(1, 1)
    with tensortap.tap(model, run="served", spool=tmp_path):
        model(torch.ones(1, 1))
        publisher = module._FpmPublisherThread()
        publisher.publish(message)
        publisher.publish("of another release")
    assert published == [message, "of another release"]
    (noted,) = [line for path in tmp_path.glob("*.logging") for line in map(json.loads, path.read_text().splitlines()) if line.get("k") == "note"]
    assert noted["v"] == {
        "forward_pass.dp_rank": "0",
        "forward_pass.wall_time": "0.25",
        "forward_pass.scheduled_requests.num_prefill_requests": "2",
        "forward_pass.scheduled_requests.var_prefill_length": "0.5",
    }
