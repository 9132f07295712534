"""Programs on the device, each under a tap: the same bits as without, and rows that are true of the tensors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reading
import torch
import torch.distributed as dist
from gpu_device import Device
from torch import Tensor, nn

import tensortap

STEPS, WIDTH = 2, 8
Expected = dict[str, tuple[Tensor, Tensor, Tensor]]


@dataclass(kw_only=True)
class Program:
    """A model, one step of what is done with it, and what its modules gave in the step under way."""

    model: nn.Module
    step: Callable[[Tensor], object]
    gave: Expected = field(default_factory=dict)

    def watch(self) -> None:
        """Compute beside the tap, by PyTorch, what its rows must say."""
        for path, module in self.model.named_modules():
            if path:
                module.register_forward_hook(self._heard(f"Module.{path}.{type(module).__name__}.forward"))

    def _heard(self, name: str) -> Callable[..., None]:
        def heard(_: nn.Module, args: object, result: Any) -> None:
            if isinstance(result, Tensor) and not torch.compiler.is_compiling():
                found = result.detach().double()
                self.gave[name] = found.amin(), found.amax(), found.abs().sum()

        return heard


def net(device: Device) -> nn.Module:
    """A small model of fixed weights."""
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)).to(device.name)


def trained(model: nn.Module) -> Program:
    """By loss, backward and optimizer."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step(batch: Tensor) -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return Program(model=model, step=step)


def training(device: Device) -> Program:
    """In float32."""
    return trained(net(device))


def in_bfloat16(device: Device) -> Program:
    """In bfloat16."""
    program = trained(net(device).bfloat16())
    step = program.step
    program.step = lambda batch: step(batch.bfloat16())
    return program


def amp(device: Device) -> Program:
    """In half precision with a GradScaler whose scale overflows at first."""
    model = net(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler(device.name, init_scale=2.0**26)

    def step(batch: Tensor) -> None:
        optimizer.zero_grad()
        with torch.autocast(device.name, dtype=torch.float16):
            loss = model(batch).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return Program(model=model, step=step)


def inference(device: Device) -> Program:
    """In inference mode, as engines serve."""
    model = net(device).eval()

    def step(batch: Tensor) -> None:
        with torch.inference_mode():
            model(batch)

    return Program(model=model, step=step)


def compiled(device: Device) -> Program:
    """By torch.compile; on the interpreter without Inductor."""
    torch.compiler.reset()
    return trained(torch.compile(net(device), backend="aot_eager" if device.is_interpreted else "inductor"))  # type: ignore[arg-type]


def sharded(device: Device) -> Program:
    """By fully_shard, on one rank."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model, mesh = net(device), init_device_mesh(device.name, (1,))
    fully_shard(model[0], mesh=mesh)  # type: ignore[index]
    fully_shard(model, mesh=mesh)
    return trained(model)


def on_a_side_stream(device: Device) -> Program:
    """The second half of the model runs on another stream."""
    model, side = net(device), torch.cuda.Stream()

    def step(batch: Tensor) -> None:
        with torch.no_grad():
            half = model[0](batch)  # type: ignore[index]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                model[2](model[1](half))  # type: ignore[index]
            torch.cuda.current_stream().wait_stream(side)

    called = _Called(model, step)
    return Program(model=called, step=called)


class _Called(nn.Module):
    """A model whose call is a function."""

    def __init__(self, model: nn.Module, call: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, batch: Tensor) -> None:
        """Call it."""
        self.call(batch)


PROGRAMS: dict[str, Callable[[Device], Program]] = {
    "training": training,
    "bfloat16": in_bfloat16,
    "AMP with GradScaler": amp,
    "inference mode": inference,
    "torch.compile": compiled,
    "FSDP on one rank": sharded,
}
OF_A_GPU: dict[str, Callable[[Device], Program]] = {"streams": on_a_side_stream}
LEVELS: dict[str, dict[str, Any]] = {"L0": {"level": "L0"}, "mix, sketch and digest": {"level": "mix", "sketch": True, "digest": True}}


def checks(device: Device, names: Collection[str]) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """Each check by its name, with what finds problems."""
    programs = PROGRAMS if device.is_interpreted else PROGRAMS | OF_A_GPU
    for name, make in ((name, programs[name]) for name in names or programs):
        for level, settings in (_interpreted(name) if device.is_interpreted else LEVELS).items():
            yield f"{name}, {level}", lambda name=name, make=make, settings=settings: list(_problems(device, name, make, settings))  # type: ignore[misc]
    if not device.is_interpreted:
        yield "CUDA graphs", lambda: list(_graphs(device))


def _interpreted(name: str) -> dict[str, dict[str, Any]]:
    """Where a launch takes its time, one level each; sketches and digests are checked by elements."""
    level = "mix" if name == "training" else "L0"
    return {level: {"level": level, "detail_steps": 0}}


def _problems(device: Device, name: str, make: Callable[[Device], Program], settings: dict[str, Any]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, _OneRank(name, device, Path(folder)):
        without = _run(device, make(device))
        program = make(device)
        program.watch()
        spool = Path(folder) / "spool"
        with device.taps(), tensortap.tap(program.model, run="gpu", spool=spool, **settings):
            recorded = _run(device, program)
        found = reading.only(spool)
        if without != recorded:
            yield "other bits than without a tap"
        yield from _untrue(found, program.gave, is_compiled=name == "torch.compile")


def _run(device: Device, program: Program) -> list[bytes]:
    """So many steps; the bits of the weights after them."""
    for number in range(STEPS):
        program.gave.clear()
        batch = torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(number)).to(device.name)
        program.step(batch)
    device.wait()
    weights = [getattr(weight, "_local_tensor", weight).detach().cpu() for weight in program.model.parameters()]
    return [weight.contiguous().view(torch.uint8).numpy().tobytes() for weight in weights]


def _untrue(found: reading.Spooled, gave: Expected, is_compiled: bool) -> Iterator[str]:
    """What is wrong in the last step."""
    if len(found.steps) != STEPS or not all(step.ended for step in found.steps):
        yield f"{len(found.steps)} steps, of which {sum(bool(step.ended) for step in found.steps)} have an end, for {STEPS}"
        return
    last = found.steps[-1]
    yield from (f"{reason}: {subject}" for reason, subject in last.unseen if reason in ("hook error", "unsupported tensor", "dropped"))
    if is_compiled:
        if not any(reason == "compiled" for reason, _ in last.unseen):
            yield "that it was compiled is not said"
        return
    rows = {value.op.rpartition(".")[0]: value.row for value in last.values if value.role == "output" and value.path == "0" and ".forward." in value.op}
    for name, (least, greatest, size) in gave.items():
        row = rows.get(name)
        if row is None:
            yield f"{name} has no row"
        elif not (_near(row[4], least.item()) and _near(row[5], greatest.item()) and _near(row[8], size.item())):
            yield f"{name}: {row[4:9]}, by PyTorch {least.item(), greatest.item(), size.item()}"


def _near(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= 1e-5 * abs(theirs) + 1e-12


class _OneRank:
    """A job of one rank, for programs that need one."""

    def __init__(self, name: str, device: Device, folder: Path) -> None:
        self._needed, self._device, self._folder = "FSDP" in name, device, folder

    def __enter__(self) -> None:
        if self._needed:
            backend = "gloo" if self._device.is_interpreted else "nccl"
            dist.init_process_group(backend, init_method=f"file://{self._folder}/store", rank=0, world_size=1)

    def __exit__(self, *_: object) -> None:
        if self._needed:
            dist.destroy_process_group()


def _graphs(device: Device) -> Iterator[str]:
    """A capture within a tap works, measures nothing, and is counted, as each replay is; so does one of a part, while nothing is recorded."""
    model, batch = net(device).eval(), torch.ones(8, WIDTH, device=device.name)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        with tensortap.tap(model, run="gpu", level="L0", spool=Path(folder)):
            model(batch)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                made = model(batch)
            graph.replay()
            device.wait()
        if not torch.equal(made, model(batch)):
            yield "a replay computes something else"
        reasons = {key for step in reading.only(Path(folder)).steps for key in step.unseen}
        yield from (f"{wanted} is not counted" for wanted in (("cuda graph", ""), ("cuda graph", "capture")) if wanted not in reasons)
    with tempfile.TemporaryDirectory() as folder, tensortap.tap(model, run="gpu", level="L0", steps=[1_000_000], spool=Path(folder)):
        model(batch)
        torch.cuda.make_graphed_callables(model[0], (batch.clone().requires_grad_(),))  # type: ignore[index]
