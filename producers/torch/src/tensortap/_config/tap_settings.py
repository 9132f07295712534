"""The settings of a tap as its caller gives them, each with its meaning: for editors and type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from tensortap._config.settings import Backward, Calls, Direction, FileFormat, Level, Risk, Signal, Task, Values


class TapSettings(TypedDict, total=False):
    """The settings of `tap`. One that is None or not given comes from its TENSORTAP_* variable, else is the default.

    One that cannot be honoured raises SettingsError, which names it and what it may be.
    """

    run: str | None
    """Name of the run, the same on all ranks, 1 to 200 characters. Default: script and start time, or the id of torchrun or Slurm;
    an error where several ranks share none."""
    level: Level | None
    """What is recorded: `L0` modules, `L1` calls of PyTorch's functions, `mix` both, `aten` ops below autograd, `debug` what `save`
    names alone, `tokens` the norm and a few sums of each token after each layer. Default: `L0`."""
    calls: Calls | None
    """At level `aten`: `counted` records equal calls of a step once, with their number; `each` every call, with statistics.
    Default: `counted`."""
    budget: float | str | Iterable[float | str] | None
    """The share of the program's time that the tap may take, as `"2%"` or `0.02`: steps are left out; or bytes of raw tensors that a
    rank may keep, as `"20GB"`, or all ranks of a host, as `"host=100GB"`; or several, as `"2%,20GB"`. Default: no limit of the time,
    and 10 GB of a rank. A share is an error at level
    `aten`, whose time is not taken."""
    payload_folder: str | os.PathLike[str] | None
    """Folder of raw tensors, made when the first is written. Default: `payloads` in the spool's root; below `tensortap run` that of its data."""
    file_format: FileFormat | None
    """How a raw tensor is written: `safetensors`, `npy` or `pt`. Default: `safetensors`."""
    steps: int | str | range | Iterable[int | str | range] | None
    """Numbers of steps, from 0, as `"0,3-5,10-100/10"` or `"1000-"`. Default: all. An error where a part holds no step."""
    ranks: int | str | range | Iterable[int | str | range] | None
    """Global ranks that record, likewise; a process that is not distributed is rank 0. Default: all."""
    when: str | Iterable[str] | None
    """Conditions of which a step is recorded, as `"request=cmpl-7*"` or `"loss>10"`; several are to hold together. Default: none.
    docs/conditions.md has the language."""
    rank: int | None
    """Rank of this process, 0 or more. Default: as torch or the launcher say."""
    scope: str | Iterable[str] | None
    """Patterns of module paths, as `layers.[0-3]`, with all that is inside; text with commas or a list. Default: all. An error at
    level `L1`, which knows no modules."""
    ops: str | Iterable[str] | None
    """Patterns of APIs, as `softmax`, `Functional.*` or a full name; likewise. Default: all. An error at level `L0`, which records
    none."""
    names: str | Iterable[str] | None
    """Parts of op names, msProbe's `list`; likewise. Default: all."""
    apis: str | os.PathLike[str] | None
    """A file of APIs to record, in the form of msProbe's `support_wrap_ops.yaml`. Default: those of msProbe. An error where it cannot
    be read as one."""
    between: str | Iterable[str] | None
    """Names of a first and a last op, both inclusive, msProbe's `scope`. Default: all. An error unless there are two, and where
    calls are counted."""
    risk: Risk | None
    """msProbe's `risk_level`: `CORE` keeps sums of products, `FOCUS` all that does more than move elements. Default: `ALL`."""
    direction: Direction | None
    """`forward`, `backward` or `both`. Default: `both`."""
    values: Values | None
    """Which values of an op: `input`, `output` or `both`. Default: `both`."""
    first_n_per_site: int | None
    """Only so many tensors of each argument of each op, 1 or more. Default: all."""
    task: Task | None
    """`statistics`; `structure` records no numbers; `md5` adds msProbe's CRC-32; `tensor` keeps each tensor in a file, too. Default: `statistics`."""
    sketch: bool | None
    """Sixteen sums of each tensor, from which the distance of two is estimated. Default: off."""
    digest: bool | None
    """A hash of each tensor's elements in their order, which separates equal from nearly equal. Default: off."""
    backward: Backward | None
    """`light` changes no result; `full` adds the gradients of modules' inputs, and changes rounding. Default: `light`."""
    detail_steps: int | None
    """So many steps after the first NaN or infinity are recorded at `mix`, with sketch and digest; 0: none. Default: 2."""
    signal: Signal | None
    """The signal that asks for two steps in detail: `USR1`, `USR2` or `none`. Default: `none`."""
    on_nan: str | Iterable[str] | None
    """What is done at the first NaN or infinity beside recording it, one or more of `record`, `keep`, `stop`, `raise`: `keep` writes
    what the op was given and made, and a file that repeats it; `stop` ends all ranks as the step ends; `raise` raises NotFinite in
    the op. Default: `record`. An error at levels `aten` and `debug`, and with `stop` where only some ranks record."""
    on_nan_bytes: int | None
    """With `keep`, most bytes of tensors that a step is held for, 0 or more. Default: 268435456."""
    memory: bool | None
    """Memory after each module, not only at the end of each step. Default: off."""
    stacks: bool | None
    """Call stacks of ops. Default: on."""
    logging: bool | None
    """Records of Python's `logging`. Default: on."""
    labels: Mapping[str, object] | str | None
    """Your own names and values of the run, as a mapping or `"team=a,try=2"`. Default: none."""
    spool: str | os.PathLike[str] | None
    """Folder of the spool, from which the agent reads. Default: by host and user. SpoolError where another user could change it."""
    segments: int | None
    """Most segments of 2 MiB that wait for the agent, 2 or more; then events are dropped and counted. Default: 64."""
    threads: int | None
    """Threads that compute statistics of a large tensor; 0: as many as torch has. Default: 0."""
    debug: int | str | range | Iterable[int | str | range] | None
    """Ranks that wait for a debugger, with debugpy, as soon as they know their rank: `"0,3"`. Default: none."""
    debug_port: int | None
    """The port of rank 0 on the loopback device; that of another rank is as much higher. Default: 5678."""
    debug_wait: float | str | None
    """So many seconds a rank waits for its debugger, then it goes on; 0: not at all. Default: 600."""
    post_mortem: bool | None
    """Below `tensortap run`: where an op raises, its process stands in pdb, at the terminal of `run`. Default: off."""
    enabled: bool | None
    """Off: nothing is recorded. Default: on."""
