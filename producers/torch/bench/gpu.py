"""What the collector does on a GPU: whether it is right, and what it costs. One command of less than eight minutes, without network.

    python bench/gpu.py PAGE          checks and measures, and writes the page; without a GPU the page says so, and it ends with 2
    python bench/gpu.py --dry [PAGE]  runs the checks in Triton's interpreter on the CPU, counts, and writes the page's section, if it is given;
                                      with --short a few of them

It ends with 1 where something is not as it must be.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

DRY, SHORT = "--dry" in sys.argv[1:], "--short" in sys.argv[1:]
if DRY:
    os.environ["TRITON_INTERPRET"] = "1"  # which Triton reads when it is imported
sys.path.append(str(Path(__file__).parents[1] / "tests"))  # for the reader of spools

import gpu_elements
import gpu_prices
import gpu_programs
import torch
from gpu_device import Device
from pages import INTERPRETER

SECONDS = 420  # in all
MARKS = f"at most {gpu_prices.MOST_LAUNCHES:.0f} launch and {gpu_prices.MOST_MICROSECONDS:.0f} µs of the processor for each observed tensor"
TITLE = "# The collector on a GPU\n\nWritten by `make gpu`; `make gpu-dry` writes the section on Triton's interpreter.\n"
NONE = "\nNo GPU: on the machine where this was written last ({machine}, torch {torch}, {date}) there is none, so nothing was checked or measured on one.\n"


def checked(device: Device, say: Callable[[str], None]) -> list[str]:
    """What is wrong, check by check."""
    found: list[str] = []
    say("\n| check | |\n|---|---|")
    dtypes, programs = (("bfloat16", "uint16"), ("inference mode",)) if SHORT else (gpu_elements.DTYPES, ())
    kinds = "two dtypes" if SHORT else "every dtype and layout"
    every = [(f"{kinds}, as the C kernel has it", lambda: list(gpu_elements.problems(device, dtypes)))]
    for name, check in (*every, ("nothing waits", lambda: gpu_prices.waits(device)), *gpu_programs.checks(device, programs)):
        if name == "nothing waits" and device.is_interpreted:
            say("| nothing waits, streams, CUDA graphs | not to be had in an interpreter |")
            continue
        try:
            problems = check()
        except Exception as error:  # the next check may find more
            problems = [f"raised {type(error).__name__}: {error}".splitlines()[0]]
        say(f"| {name} | {'as it must be' if not problems else '; '.join(problems[:5])} |")
        found += [f"{name}: {problem}" for problem in problems]
    return found


def priced(prices: Iterable[gpu_prices.Price]) -> Iterator[str]:
    """The table of what a tensor costs."""
    yield "\n| what is computed | elements | launches | µs to enqueue | µs to write | µs until it is done | the mark |\n|---|---|---|---|---|---|---|"
    for price in prices:
        done = "" if price.done_us is None else f"{price.done_us:.1f}"
        figures = f"{price.launches:.1f} | {price.enqueued_us:.1f} | {price.written_us:.1f} | {done}"
        yield f"| {price.wanted} | {price.elements:,} | {figures} | {'met' if price.is_met() else 'missed'} |"


def overhead(end: float) -> Iterator[str]:
    """The table of what a tap costs a model."""
    import gpu_overhead

    yield "\n| work | layers | recorded | ms a step | ratio | ms added | tensors a step | µs a tensor | MB held | MB more at the peak |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for cost in gpu_overhead.costs(end):
        pairs = cost.pairs
        each = f"{pairs.added() / cost.tensors * 1e6:.1f}" if cost.tensors else ""
        figures = f"{pairs.milliseconds():.2f} | {pairs.ratio():.3f} | {1e3 * pairs.added():.2f} | {cost.tensors:,.0f} | {each} | {cost.held_mb:.1f} | {cost.peak_mb:.1f}"
        yield f"| {cost.work} | {cost.layers} | {cost.mode} | {figures} |"


def about(device: str) -> dict[str, str]:
    """The machine and the day."""
    return {"machine": f"{os.cpu_count()} cores, {device}", "torch": torch.__version__, "date": time.strftime("%Y-%m-%d", time.gmtime())}


def dry(page: Path | None) -> int:
    """Run the checks in the interpreter."""
    lines: list[str] = []
    say = _teller(lines)
    facts = about("no GPU")
    some = ", a few of its checks (`--short`)" if SHORT else ""
    say(f"\n## In Triton's interpreter\n\n`make gpu-dry`{some}; {facts['machine']}, torch {facts['torch']}, {facts['date']}: the same checks, small, with tensors of the CPU.")
    say(f"Microseconds are of the processor without the launch itself, which the interpreter has not. The mark is {MARKS}.")
    found = checked(Device(name="cpu", is_interpreted=True), say)
    for line in priced(gpu_prices.prices(Device(name="cpu", is_interpreted=True), 3 if SHORT else 7)):
        say(line)
    if page:
        if not page.exists():
            page.write_text(TITLE + NONE.format(**facts))
        INTERPRETER.write(page, "\n".join(lines).lstrip())
    return _verdict(found)


def on_gpu(page: Path) -> int:
    """Check and measure on the GPU, and write the page; its section of the interpreter stays."""
    end, lines = time.monotonic() + SECONDS, list[str]()
    if not torch.cuda.is_available():
        print("gpu: no GPU here: NOTHING WAS CHECKED")
        _write(page, NONE.format(**about("no GPU")))
        return 2
    say, device, facts = _teller(lines), Device(name="cuda", is_interpreted=False), about(torch.cuda.get_device_name())
    say(f"\n{facts['machine']}, torch {facts['torch']}, {facts['date']}. Statistics of all tensors; the mark is {MARKS}.")
    say("A step is recorded or armed by turns, in pairs of neighbours; `armed` stands against no tap. Ratios are medians over pairs.")
    found = checked(device, say)
    for line in (*priced(gpu_prices.prices(device)), *overhead(end)):
        say(line)
    _write(page, "\n".join(lines) + "\n")
    return _verdict(found)


def _teller(lines: list[str]) -> Callable[[str], None]:
    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    return say


def _write(page: Path, section: str) -> None:
    kept = INTERPRETER.of(page)
    page.write_text(TITLE + section + (f"\n{kept}" if kept else ""))


def _verdict(found: list[str]) -> int:
    print("\n".join(found) or "gpu: all as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    pages = [Path(given) for given in sys.argv[1:] if given not in ("--dry", "--short")]
    if not DRY and len(pages) != 1:
        sys.exit(__doc__)
    sys.exit(dry(pages[0] if pages else None) if DRY else on_gpu(pages[0]))
