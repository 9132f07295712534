"""Replays of CUDA graphs, in which no hook runs: counted, so that they are not passed over in silence."""

from __future__ import annotations

import torch

from tensortap._hooks.function_watch import Watch
from tensortap._record import unseen


class GraphWatch(Watch):
    """Counts each replay of a CUDA graph between install and remove."""

    def __init__(self, counts: unseen.Unseen) -> None:
        super().__init__([torch.cuda.CUDAGraph], "replay", lambda *_: counts.count(unseen.CUDA_GRAPH))
