"""The log of SGLang's shape profiler, by that profiler's own switches: a line of JSON per op, and a summary at the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from torch import Tensor

from tensortap._config.shape_switches import Asked


class ShapeLog:
    """Writes the log of one process. Each line is with the system when the op is over; an error ends the log, and is told."""

    def __init__(self, wanted: Asked, rank: int, say: Callable[[str], None]) -> None:
        self._asked, self._rank, self._say = wanted, rank, say
        self._file: TextIO | None = None
        self._pass = self._ops = self._skipped = 0
        self._counts: Counter[str] = Counter()
        self._known: set[str] = set()
        self._logs = False
        self._attempt(self._open)

    def begin_pass(self) -> None:
        """The next forward pass."""
        self._pass += 1
        after = self._pass - self._asked.skip
        self._logs = self._file is not None and 1 <= after <= (self._asked.passes or after)

    def inputs(self, named: Iterable[tuple[str, object]]) -> str:
        """The tensors among an op's arguments, as JSON."""
        facts = ((name, _facts(value)) for name, value in named)
        return json.dumps({name: found for name, found in facts if found is not None})

    def line(self, operation: str, inputs: str, result: object) -> str:
        """What a line says of an op, without its numbers; empty for an op without tensors."""
        outputs = _facts(result)
        if inputs == "{}" and outputs is None:
            return ""
        return f'"operation": {json.dumps(operation)}, "inputs": {inputs}, "outputs": {json.dumps(outputs)}'

    def write(self, operation: str, line: str) -> None:
        """An op is over."""
        if not self._logs or not line:
            return
        self._ops += 1
        self._counts[operation] += 1
        if line not in self._known:
            self._known.add(line)
        elif self._asked.dedupe:
            self._skipped += 1
            return
        self._append(line)

    def raised(self, operation: str, inputs: str, error: Exception) -> None:
        """An op raised."""
        if self._logs:
            self._ops += 1
            self._counts[operation] += 1
            told = json.dumps({"error_type": type(error).__name__, "error_message": str(error)})
            self._append(f'"operation": {json.dumps(operation)}, "inputs": {inputs}, "outputs": null, "error": {told}')

    def close(self) -> None:
        """Write the summary."""
        if self._file is not None:
            self._attempt(self._file.close)
            self._attempt(self._summarise)
            self._file, self._logs = None, False

    def _open(self) -> None:
        self._file = open(self._asked.file, "w", encoding="utf-8", buffering=1)  # noqa: SIM115

    def _append(self, line: str) -> None:
        if self._file is not None:
            text = f'{{"call_id": {self._ops}, "forward_pass": {self._pass}, {line}}}\n'
            self._attempt(self._file.write, text)

    def _summarise(self) -> None:
        path = Path(self._asked.file)
        summary = {
            "rank": self._rank,
            "total_operations": self._ops,
            "forward_passes": self._pass,
            "unique_operations": len(self._counts),
            "operation_counts": dict(self._counts.most_common()),
            "dedupe_enabled": self._asked.dedupe,
            "dedupe_skipped_count": self._skipped,
            "unique_op_signatures": len(self._known),
        }
        path.with_name(f"{path.stem}_summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")

    def _attempt(self, action: Callable[..., object], *args: object) -> None:
        try:
            action(*args)
        except OSError as error:
            self._file, self._logs = None, False
            self._say(f"the log of shapes ends here: write {self._asked.file}: {error}")


def opened(wanted: Asked | None, coordinates: Mapping[str, tuple[int, int]], rank: int, say: Callable[[str], None]) -> ShapeLog | None:
    """The log of this process, if it is the one that is to have it."""
    if wanted is None:
        return None
    own = coordinates["tp"][0] if "tp" in coordinates else rank
    return ShapeLog(wanted, own, say) if own == wanted.rank else None


def _facts(value: Any) -> object:
    """Shape and dtype of a tensor, a list of them of a list, None of what holds no tensor."""
    if isinstance(value, Tensor):
        return {"shape": [int(size) for size in value.shape], "dtype": str(value.dtype)}
    if isinstance(value, list | tuple):
        found = [facts for facts in map(_facts, value) if facts is not None]
        return found or None
    return None
