"""The streams of a device on which a step's tensors were measured."""

from __future__ import annotations

from typing import Any

import torch


class Streams:
    """Which streams have work of ours that the current one has not waited for."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._used: dict[int, Any] = {}

    def here(self) -> int:
        """The number of the current stream, which gets work; 0 where a device has no streams."""
        if self._device.type != "cuda":
            return 0
        stream = torch.cuda.current_stream(self._device)
        self._used[stream.cuda_stream] = stream
        return stream.cuda_stream

    def join(self) -> None:
        """The current stream waits, on the device, for the others that had work since the last call."""
        used, self._used = self._used, {}
        if not used:
            return
        current = torch.cuda.current_stream(self._device)
        for number, stream in used.items():
            if number != current.cuda_stream:
                current.wait_stream(stream)
