"""What the collector costs: steps of two Llamas with and without it, in alternating rounds.

    python bench/overhead.py TABLE.md          times all and writes the table
    python bench/overhead.py --msprobe SUBJECT prints the same of msProbe, as JSON; run by the above in the environment of TENSORTAP_MSPROBE's executable
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from subjects import SUBJECTS, Subject

ROUNDS = int(os.environ.get("TENSORTAP_BENCH_ROUNDS", "7"))
STEPS = {"tiny": 4, "medium": 1}
MODES: dict[str, dict[str, Any]] = {
    "without": {},
    "armed": {"level": "mix", "steps": [1_000_000]},
    "L0": {"level": "L0"},
    "L1": {"level": "L1"},
    "mix": {"level": "mix"},
    "mix, sketch": {"level": "mix", "sketch": True},
    "mix, digest": {"level": "mix", "digest": True},
    "mix, both": {"level": "mix", "sketch": True, "digest": True},
}
LONG = ("mix, sketch", "mix, digest")  # timed on the small model only
Times = dict[str, list[tuple[float, float]]]


@contextmanager
def collected(subject: Subject, settings: dict[str, Any], spool: Path) -> Iterator[None]:
    """The collector on the model, unless there are no settings."""
    if not settings:
        yield
        return
    import tensortap

    with tensortap.tap(subject.model, run="bench", spool=str(spool), memory=False, **settings):
        yield


def timed(step: Callable[[], None], steps: int) -> tuple[float, float]:
    """Seconds of one step by the clock and of the processor, after a step that warms up."""
    step()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    return (time.perf_counter() - wall) / steps, (time.process_time() - cpu) / steps


def modes_of(name: str) -> list[str]:
    """What is timed on a model."""
    return [mode for mode in MODES if name == "tiny" or mode not in LONG]


def rounds(subject: Subject, kind: str, name: str, folder: Path) -> Times:
    """Times of every mode, round by round."""
    times: Times = {mode: [] for mode in modes_of(name)}
    step, steps = getattr(subject, kind), STEPS[name]
    for number in range(ROUNDS):
        for mode in times:
            with collected(subject, MODES[mode], folder / f"{kind}-{mode}-{number}"):
                times[mode].append(timed(step, steps))
    return times


def tensors_and_bytes(folder: Path, steps: int) -> tuple[float, float, float]:
    """Of a process's spool: tensors a step, bytes of records a tensor, bytes of definitions in all."""
    from tensortap import layout

    tensors = records = 0
    for segment in folder.glob("*/rows-*"):
        content = segment.read_bytes()
        kinds = [content[at + layout.COMMIT_OFFSET] for at in range(0, len(content), layout.RECORD_BYTES)]
        tensors += kinds.count(layout.TENSOR_KIND)
        records += len(kinds) - kinds.count(0) - kinds.count(layout.PAD_KIND)
    definitions = sum(path.stat().st_size for path in folder.glob("*/definitions"))
    return tensors / steps, records * layout.RECORD_BYTES / max(1, tensors), float(definitions)


def ratio(times: Times, mode: str, which: int) -> float:
    """The median over rounds of the time of a step against that without the collector in the same round."""
    return statistics.median(a[which] / b[which] for a, b in zip(times[mode], times["without"], strict=True))


def rows_of(name: str, subject: Subject, folder: Path) -> list[str]:
    """The table's rows for a model."""
    trained = rounds(subject, "train", name, folder)
    passed = rounds(subject, "forward", name, folder)
    theirs = msprobe(name)
    rows = []
    for mode in modes_of(name):
        sizes = ["", "", ""]
        if mode not in ("without", "armed"):
            found = tensors_and_bytes(folder / f"train-{mode}-0", STEPS[name] + 1)
            sizes = [f"{found[0]:,.0f}", f"{found[1]:.0f}", f"{found[2] / 1000:,.0f}"]
        base = statistics.median(wall for wall, _ in trained[mode]) * 1000
        ratios = [f"{ratio(times, mode, which):.2f}" for times in (trained, passed) for which in (0, 1)]
        rows.append(f"| {name} | {mode} | {base:.0f} | " + " | ".join([*ratios, *sizes, theirs.get(mode, "")]) + " |")
    return rows


def msprobe(name: str) -> dict[str, str]:
    """msProbe's ratios of a training step by level, where there is one."""
    environment = os.environ.get("TENSORTAP_MSPROBE", "")
    if not environment:
        return {}
    command = [str(Path(environment).with_name("python")), __file__, "--msprobe", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def time_msprobe(name: str) -> dict[str, str]:
    """The ratio of msProbe's training step, statistics of all, at each level."""
    from msprobe.pytorch import PrecisionDebugger

    subject = SUBJECTS[name]()
    ratios = {}
    for level in ("L0", "L1", "mix"):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.json"
            wish = {"task": "statistics", "dump_path": folder, "level": level, "risk_level": "ALL", "rank": [], "step": []}
            config.write_text(json.dumps({**wish, "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}))
            PrecisionDebugger._instance = None
            debugger = PrecisionDebugger(config_path=str(config))

            def observed(debugger: Any = debugger) -> None:
                debugger.start(subject.model)
                subject.train()
                debugger.stop()
                debugger.step()

            pairs = [(timed(observed, 1)[0], timed(subject.train, 1)[0]) for _ in range(3)]
            ratios[level] = f"{statistics.median(a / b for a, b in pairs):.2f}"
    return ratios


HEAD = """# What the collector costs

Written by `make bench-torch`; {machine}, {threads} threads, torch {torch}, median of {rounds} alternating rounds, {date}.
Times of a step are against the same step without the collector in the same round, by the clock and in processor seconds;
`armed` is a tap that waits for a step far away. msProbe's column is its own training step by the clock, statistics of all
(empty where TENSORTAP_MSPROBE does not name its executable). Load of the machine when this began: {load:.1f}.

| model | recorded | ms a training step | training | CPU | forward | CPU | tensors a step | spool bytes a tensor | definitions kB | msProbe |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def main(table: Path) -> None:
    """Times every model and writes the table."""
    head = HEAD.format(
        machine=f"{os.cpu_count()} cores of {platform.machine()}",
        threads=torch.get_num_threads(),
        torch=torch.__version__,
        rounds=ROUNDS,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        load=os.getloadavg()[0],
    )
    rows: list[str] = []
    for name in os.environ.get("TENSORTAP_BENCH_MODELS", "tiny medium").split():
        with tempfile.TemporaryDirectory() as folder:
            rows += rows_of(name, SUBJECTS[name](), Path(folder))
        table.write_text(head + "\n".join(rows) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--msprobe":
        print(json.dumps(time_msprobe(sys.argv[2])))
    else:
        main(Path(sys.argv[1]))
