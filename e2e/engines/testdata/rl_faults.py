"""Faults of a vLLM that samples: what undoes each, when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


def positions(worker: Any, model: nn.Module) -> Callable[[], None]:
    """Requests that begin behind a cached prefix are one position further than they should be."""
    behind_prefix: set[str] = set()
    execute = worker.execute_model

    def execute_model(scheduled: Any, *args: Any, **kwargs: Any) -> Any:
        behind_prefix.update(new.req_id for new in scheduled.scheduled_new_reqs if new.num_computed_tokens)
        is_behind = [name in behind_prefix for name in scheduled.num_scheduled_tokens]
        if any(is_behind) != all(is_behind):
            raise RuntimeError(f"a batch of requests with and without a cached prefix: {scheduled.num_scheduled_tokens}")
        moved = model.register_forward_pre_hook(_moved, with_kwargs=True) if any(is_behind) else None
        try:
            return execute(scheduled, *args, **kwargs)
        finally:
            if moved:
                moved.remove()

    worker.execute_model = execute_model
    return lambda: delattr(worker, "execute_model")


def _moved(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs | {"positions": kwargs["positions"] + 1}


def router(_: Any, model: nn.Module) -> Callable[[], None]:
    """Routers take and give bfloat16."""
    gates = [module for name, module in model.named_modules() if name.endswith(".gate")]
    for gate in gates:
        gate.forward = _in_bfloat16(gate.forward)

    def undo() -> None:
        for gate in gates:
            del gate.forward

    return undo


def _in_bfloat16(forward: Callable[[Tensor], tuple[Tensor, Any]]) -> Callable[[Tensor], tuple[Tensor, Any]]:
    def rounded(hidden: Tensor) -> tuple[Tensor, Any]:
        logits, bias = forward(hidden.bfloat16().to(hidden.dtype))
        return logits.bfloat16(), bias

    return rounded
