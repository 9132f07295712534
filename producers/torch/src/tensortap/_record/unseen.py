"""What was not observed, and why: counted reasons, written at the end of each step. Silence is never an answer."""

from __future__ import annotations

from typing import Final

# Each reason has its sentence in docs/collector.md; a test holds the two together.
FILTERED: Final = "filtered"
SAMPLED: Final = "sampled"
STEP_NOT_WANTED: Final = "step not wanted"
CONDITION: Final = "no step fulfilled the condition"
BUDGET: Final = "beyond the budget"
ONLY_LOSS: Final = "only the loss"
COMPILED: Final = "compiled"
TRACED: Final = "traced"
CUDA_GRAPH: Final = "cuda graph"
FUSED: Final = "fused"
OTHER_THREAD: Final = "other thread"
UNSUPPORTED_TENSOR: Final = "unsupported tensor"
IN_FLIGHT: Final = "copy in flight"
CUSTOM_OP: Final = "custom op"
UNSUPPORTED_OUTPUT: Final = "unsupported output"
NO_BACKWARD_HOOK: Final = "no backward hook"
HOOK_ERROR: Final = "hook error"
DROPPED: Final = "dropped"
SETTING_NOT_HONOURED: Final = "setting not honoured"
ANOTHER_MODEL: Final = "another model"
NOT_SERVED: Final = "serves no request"
REQUEST_NAMES: Final = "request names beyond the limit"
NOT_KEPT: Final = "payload not kept"
UNDEFINED: Final = "definitions beyond the limit"
ODD_STEP: Final = "step looks wrong"
OUTSIDE_STEP: Final = "saved outside of a step"
TOKENS: Final = "tokens not recorded"
OTHER_REASONS: Final = "reasons beyond the limit"

REASONS: Final[tuple[str, ...]] = (
    FILTERED,
    SAMPLED,
    STEP_NOT_WANTED,
    CONDITION,
    BUDGET,
    ONLY_LOSS,
    COMPILED,
    TRACED,
    CUDA_GRAPH,
    FUSED,
    OTHER_THREAD,
    UNSUPPORTED_TENSOR,
    IN_FLIGHT,
    CUSTOM_OP,
    UNSUPPORTED_OUTPUT,
    NO_BACKWARD_HOOK,
    HOOK_ERROR,
    DROPPED,
    SETTING_NOT_HONOURED,
    ANOTHER_MODEL,
    NOT_SERVED,
    REQUEST_NAMES,
    NOT_KEPT,
    UNDEFINED,
    ODD_STEP,
    OUTSIDE_STEP,
    TOKENS,
    OTHER_REASONS,
)
MOST_PAIRS: Final = 4096


class Unseen:
    """Counts by reason and subject since the last drain. Calls may overlap; a count that races with drain goes to the next."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def count(self, reason: str, subject: str = "", times: int = 1) -> None:
        """Count something that was not observed. Subjects beyond the limit are counted together."""
        key = (reason, subject)
        counts = self._counts
        if key not in counts and len(counts) >= MOST_PAIRS:
            key = (OTHER_REASONS, "")
        counts[key] = counts.get(key, 0) + times

    def drain(self) -> list[tuple[str, str, int]]:
        """Return (reason, subject, count) of all since the last call, in the order of their first occurrence."""
        taken, self._counts = self._counts, {}
        return [(reason, subject, times) for (reason, subject), times in taken.items()]
