"""What the collector costs: steps of two Llamas with and without it, in alternating rounds.

    python bench/overhead.py TABLE.md                    times all and writes the table
    python bench/overhead.py --msprobe SUBJECT FOLDER    answers each line (forward or train, and a level) with msProbe's times, as
                                                         JSON; run by the above in the environment of TENSORTAP_MSPROBE's executable
    python bench/overhead.py --spool FOLDER LEVEL STEPS  writes the spool of a small training; run by internal/dev/bench
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
from neighbouring import section
from pages import LONG_RUNS
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
LEVELS = ("L0", "L1", "mix")  # of msProbe
LONG = ("mix, sketch", "mix, digest")  # timed on the small model only
Times = dict[str, list[tuple[float, float]]]
Ask = Callable[[str], dict[str, list[float]]]


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


def rounds(subject: Subject, kind: str, name: str, folder: Path, ask: Ask) -> Times:
    """Times of every mode, round by round; msProbe's between ours.

    Each round begins with another mode: what follows upon msProbe, or upon a pause, is slower than the same a moment later.
    """
    modes = modes_of(name)
    times: Times = {mode: [] for mode in modes}
    step, steps = getattr(subject, kind), STEPS[name]
    for number in range(ROUNDS):
        for mode in modes[number % len(modes) :] + modes[: number % len(modes)]:
            with collected(subject, MODES[mode], folder / f"{kind}-{mode}-{number}"):
                times[mode].append(timed(step, steps))
        for level in LEVELS:
            for mode, found in ask(f"{kind} {level}").items():
                times.setdefault(mode, []).append((found[0], found[1]))
    return times


def _is_literal(content: bytes, at: int) -> bool:
    """Whether a tensor's record is of an argument that is no tensor."""
    from tensortap._spool import layout

    return bool(layout.TENSOR.unpack_from(content, at)[3] & layout.LITERAL)


def tensors_and_bytes(folder: Path, steps: int) -> tuple[float, float, float]:
    """Of a process's spool: tensors a step, bytes of records a tensor, bytes of definitions in all."""
    from tensortap._spool import layout

    tensors = records = 0
    for segment in folder.glob("*/rows-*"):
        content = segment.read_bytes()
        starts = range(0, len(content), layout.RECORD_BYTES)
        kinds = [content[at + layout.COMMIT_OFFSET] for at in starts]
        literals = sum(kind == layout.TENSOR_KIND and _is_literal(content, at) for kind, at in zip(kinds, starts, strict=True))
        tensors += kinds.count(layout.TENSOR_KIND) - literals
        records += len(kinds) - kinds.count(0) - kinds.count(layout.PAD_KIND)
    definitions = sum(path.stat().st_size for path in folder.glob("*/definitions"))
    return tensors / steps, records * layout.RECORD_BYTES / max(1, tensors), float(definitions)


def ratio(times: Times, mode: str, which: int) -> float:
    """The median over rounds of the time of a step against that without, in the same process and round."""
    alone = times[f"{mode}, without" if mode.startswith("msProbe") else "without"]
    return statistics.median(a[which] / b[which] for a, b in zip(times[mode], alone, strict=True))


def rows_of(name: str, subject: Subject, folder: Path) -> list[str]:
    """The table's rows for a model."""
    with msprobe(name, folder / "msprobe") as ask:
        trained = rounds(subject, "train", name, folder, ask)
        passed = rounds(subject, "forward", name, folder, ask)
    rows = []
    for mode in (mode for mode in trained if not mode.endswith(", without")):
        sizes = ["", "", ""]
        if mode in MODES and mode not in ("without", "armed"):
            found = tensors_and_bytes(folder / f"train-{mode}-0", STEPS[name] + 1)
            sizes = [f"{found[0]:,.0f}", f"{found[1]:.0f}", f"{found[2] / 1000:,.0f}"]
        base = statistics.median(wall for wall, _ in trained[mode]) * 1000
        ratios = [f"{ratio(times, mode, which):.2f}" for times in (trained, passed) for which in (0, 1)]
        rows.append(f"| {name} | {mode} | {base:.0f} | " + " | ".join([*ratios, *sizes]) + " |")
    return rows


@contextmanager
def msprobe(name: str, folder: Path) -> Iterator[Ask]:
    """Asks msProbe's process for a round; for nothing where there is no msProbe."""
    environment = os.environ.get("TENSORTAP_MSPROBE", "")
    if not environment:
        yield lambda kind: {}
        return
    command = [str(Path(environment).with_name("python")), __file__, "--msprobe", name, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        questions, answers = process.stdin, process.stdout

        def ask(kind: str) -> dict[str, list[float]]:
            questions.write(kind + "\n")
            questions.flush()
            answer: dict[str, list[float]] = json.loads(answers.readline())
            return answer

        yield ask
        questions.close()


def answer_for_msprobe(name: str, folder: Path) -> None:
    """A line of JSON for each line read, on what was stdout: msProbe itself prints there.

    Each is answered by a fork: msProbe leaves its hooks on the model and on torch, so that every further
    debugger of a process would be slower than the one before.
    """
    import msprobe.pytorch  # noqa: F401  once, not in every fork

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for number, line in enumerate(sys.stdin):
        child = os.fork()
        if not child:
            kind, level = line.split()
            found = times_of_msprobe(SUBJECTS[name](), kind, level, STEPS[name], folder / str(number))
            print(json.dumps(found), file=answers, flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"msProbe failed at {line}")


def times_of_msprobe(subject: Subject, kind: str, level: str, steps: int, folder: Path) -> dict[str, tuple[float, float]]:
    """Seconds of a step without and with msProbe, statistics of all."""
    step = getattr(subject, kind)
    alone = timed(step, steps)
    debugger = debugger_of_msprobe(folder, level)

    def observed() -> None:
        debugger.start(subject.model)
        step()
        debugger.stop()
        debugger.step()

    return {f"msProbe, {level}, without": alone, f"msProbe, {level}": timed(observed, steps)}


def debugger_of_msprobe(folder: Path, level: str) -> Any:
    """msProbe's class."""
    from msprobe.pytorch import PrecisionDebugger

    folder.mkdir(parents=True)
    wish = {"task": "statistics", "dump_path": str(folder), "level": level, "risk_level": "ALL", "rank": [], "step": []}
    config = folder / "config.json"
    config.write_text(json.dumps({**wish, "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}))
    return PrecisionDebugger(config_path=str(config))


def write_spool(folder: Path, level: str, steps: int) -> None:
    """The spool of so many steps of training the small model."""
    subject = SUBJECTS["tiny"]()
    with collected(subject, {"level": level}, folder):
        for _ in range(steps):
            subject.train()


HEAD = """# What the collector costs

Written by `make bench-torch`; {machine}, {threads} threads, torch {torch}, median of {rounds} alternating rounds, {date}.
Times of a step are against the same step without the collector in the same round, by the clock and in processor seconds;
`armed` is a tap that waits for a step far away. msProbe, statistics of all, has a process and an environment of its own, takes its
rounds between ours and stands against its own step without (where TENSORTAP_MSPROBE names its executable). Load of the machine
when this began: {load:.1f}.
Of the spool's bytes 64 are the tensor's row, the others are rows of ops: two of a module's call, one of any other.

| model | recorded | ms a training step | training | CPU | forward | CPU | tensors a step | spool bytes a tensor | definitions kB |
|---|---|---|---|---|---|---|---|---|---|
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
    kept, rows = LONG_RUNS.of(table), list[str]()
    models = os.environ.get("TENSORTAP_BENCH_MODELS", "tiny medium").split()
    for name in models:
        with tempfile.TemporaryDirectory() as folder:
            rows += rows_of(name, SUBJECTS[name](), Path(folder))
        table.write_text(head + "\n".join(rows) + "\n")
    with table.open("a", encoding="utf-8") as page:
        page.writelines([*section(models), "\n" if kept else "", kept])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--msprobe", name, folder]:
            answer_for_msprobe(name, Path(folder))
        case ["--spool", folder, level, steps]:
            write_spool(Path(folder), level, int(steps))
        case [table]:
            main(Path(table))
        case _:
            sys.exit(__doc__)
