"""SGLang's workers of diffusion: their steps are found as in any program, and the last one of a picture ends with it."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tensortap.integrations import generic
from tensortap.integrations.served import around

REQUEST: Final = "_execute_forward_common"  # all ways to a picture or video go by here, those of several at once, too


def attach(module: ModuleType) -> None:
    """Called once sglang.multimodal_gen.runtime.managers.gpu_worker was imported."""
    around(module.GPUWorker, REQUEST, after=lambda worker: generic.rest())
