"""Loops of training, validation and inference as programs have them."""

from __future__ import annotations

import copy
from contextlib import suppress

import torch
from torch import Tensor, nn

GIVEN = torch.ones(2, 4)


class Net(nn.Module):
    """Two layers, the second of which can be told to raise."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, given: Tensor, fails: bool = False) -> Tensor:
        """One after the other."""
        hidden = self.inner(given)
        if fails:
            raise ValueError("on request")
        answer: Tensor = self.outer(hidden)
        return answer


def sgd(model: nn.Module, lr: float = 0.01) -> torch.optim.Optimizer:
    """The optimizer of most loops."""
    return torch.optim.SGD(model.parameters(), lr=lr)


def backward(model: nn.Module, scale: float = 1.0) -> None:
    """A forward and its backward."""
    (model(GIVEN).square().mean() * scale).backward()


def plainly(model: nn.Module) -> None:
    """One batch, one step."""
    optimizer = sgd(model)
    for _ in range(4):
        optimizer.zero_grad()
        backward(model)
        optimizer.step()


def scaled(model: nn.Module) -> None:
    """The scale is too great for the first two batches, whose steps are skipped."""
    optimizer, scaler = sgd(model, 1e-9), torch.amp.GradScaler("cpu", init_scale=2.0**126, backoff_factor=2.0**-12)
    for _ in range(5):
        optimizer.zero_grad()
        scaler.scale(model(GIVEN * 1e3).square().sum()).backward()
        scaler.step(optimizer)
        scaler.update()


def scaled_by_an_optimizer_that_can(model: nn.Module) -> None:
    """A fused optimizer is told of the scale, and skips by itself."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126, backoff_factor=2.0**-12)
    for _ in range(5):
        optimizer.zero_grad()
        scaler.scale(model(GIVEN * 1e3).square().sum()).backward()
        scaler.step(optimizer=optimizer)
        scaler.update()


def compiled(model: nn.Module) -> None:
    """No hook of an optimizer runs in compiled code."""
    optimizer = sgd(model)
    step = torch.compile(optimizer.step, backend="eager")
    for _ in range(4):
        for _ in range(2):
            backward(model)
        step()
        optimizer.zero_grad()


def compiled_whole(model: nn.Module) -> None:
    """As above, in one graph and by AOTAutograd."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(0.01), capturable=False)
    step = torch.compile(lambda: optimizer.step(), backend="aot_eager")
    for _ in range(4):
        for _ in range(2):
            backward(model)
        step()
        optimizer.zero_grad()


def compiled_beside_modules_that_change_themselves(model: nn.Module) -> None:
    """An embedding that limits its rows does so as it is called."""
    embedding = nn.Embedding(2, 4, max_norm=0.1)
    model.add_module("embedding", embedding)
    model.inner.register_forward_pre_hook(lambda _, given: (embedding(torch.ones(2, dtype=torch.long)) + given[0],))
    compiled(model)


def foreach(model: nn.Module) -> None:
    """All parameters at once."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
    for _ in range(4):
        backward(model)
        optimizer.step()


def masters(model: nn.Module) -> None:
    """Megatron's way: the optimizer has copies in float32, and gradients are taken from the model after each batch."""
    model.bfloat16()
    copies = [nn.Parameter(parameter.detach().float()) for parameter in model.parameters()]
    optimizer = torch.optim.AdamW(copies, lr=0.01)
    for _ in range(4):
        for _ in range(3):
            model(GIVEN.bfloat16()).square().mean().backward()
            for parameter, one in zip(model.parameters(), copies, strict=True):
                assert parameter.grad is not None
                one.grad = parameter.grad.float() if one.grad is None else one.grad + parameter.grad.float()
                parameter.grad = None
        optimizer.step()
        optimizer.zero_grad()
        for parameter, one in zip(model.parameters(), copies, strict=True):
            parameter.data.copy_(one.data)


def flat_masters(model: nn.Module) -> None:
    """DeepSpeed's way: one flat copy for each group, each of which is stepped alone."""
    model.bfloat16()
    halves = [list(layer.parameters()) for layer in model.children()]
    flat = [nn.Parameter(torch.cat([part.detach().float().flatten() for part in half])) for half in halves]
    optimizer = torch.optim.AdamW([{"params": [one]} for one in flat], lr=0.01)
    groups = optimizer.param_groups
    for _ in range(4):
        for _ in range(2):
            model(GIVEN.bfloat16()).square().mean().backward()
        for one, half, group in zip(flat, halves, groups, strict=True):
            one.grad = torch.cat([part.grad.float().flatten() for part in half if part.grad is not None])
            optimizer.param_groups = [group]
            optimizer.step()
        optimizer.param_groups = groups
        model.zero_grad()


def accumulated(model: nn.Module) -> None:
    """Three batches, one step."""
    optimizer = sgd(model)
    for _ in range(4):
        for _ in range(3):
            backward(model, 1 / 3)
        optimizer.step()
        optimizer.zero_grad()


def with_another_teacher(model: nn.Module) -> None:
    """Which is not recorded."""
    teacher, optimizer = copy.deepcopy(model).eval(), sgd(model)
    for _ in range(4):
        for _ in range(2):
            with torch.no_grad():
                wanted = teacher(GIVEN)
            (model(GIVEN) - wanted).square().sum().backward()
        optimizer.step()


def its_own_teacher(model: nn.Module) -> None:
    """First the teacher, then the student, twice for each step."""
    optimizer = sgd(model)
    for _ in range(4):
        for _ in range(2):
            with torch.no_grad():
                wanted = model(GIVEN)
            (model(GIVEN + 1) - wanted).square().sum().backward()
        optimizer.step()


def its_own_reference(model: nn.Module) -> None:
    """First what learns, then what it is compared with, as where adapters are turned off for the second."""
    optimizer = sgd(model)
    for _ in range(4):
        answer = model(GIVEN)
        with torch.no_grad():
            wanted = model(GIVEN + 1)
        (answer - wanted).square().sum().backward()
        optimizer.step()


def evaluated(model: nn.Module) -> None:
    """A check of sanity, then after every second step two batches without gradients."""
    optimizer = sgd(model)

    def evaluate() -> None:
        model.eval()
        with torch.no_grad():
            model(GIVEN)
            model(GIVEN)
        model.train()

    evaluate()
    for at in range(4):
        for _ in range(2):
            backward(model)
        optimizer.step()
        if at % 2:
            evaluate()


def evaluated_amid_batches(model: nn.Module) -> None:
    """Before the last batches of an epoch made a step."""
    optimizer = sgd(model)
    for _ in range(2):
        backward(model)
        model.eval()
        with torch.inference_mode():
            model(GIVEN)
        model.train()
        backward(model)
        optimizer.step()


def contrasted(model: nn.Module) -> None:
    """Two views, one backward."""
    optimizer = sgd(model)
    for _ in range(4):
        optimizer.zero_grad()
        (model(GIVEN) - model(GIVEN + 1)).square().sum().backward()
        optimizer.step()


def two_optimizers(model: nn.Module) -> None:
    """Of the weights and of the biases, one after the other."""
    parameters = list(model.parameters())
    both = [torch.optim.SGD(some, lr=0.01) for some in (parameters[::2], parameters[1::2])]
    for _ in range(4):
        backward(model)
        for optimizer in both:
            optimizer.step()


def by_closure(model: nn.Module) -> None:
    """The optimizer itself calls the model, several times."""
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2, tolerance_change=0, tolerance_grad=0)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = model(GIVEN).square().mean()
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)  # type: ignore[arg-type]


@torch.no_grad()
def inferred(model: nn.Module) -> None:
    """Nothing is trained."""
    model.eval()
    for _ in range(4):
        model(GIVEN)


def skipped(model: nn.Module) -> None:
    """The second batch raises, and the program goes on with the third."""
    optimizer = sgd(model)
    for at in range(4):
        optimizer.zero_grad()
        with suppress(ValueError):
            model(GIVEN, at == 1).square().mean().backward()
            optimizer.step()


class Raising(torch.autograd.Function):
    """Raises in the backward pass."""

    @staticmethod
    def forward(ctx: object, given: Tensor) -> Tensor:
        """The same."""
        return given.clone()

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        """Nothing."""
        raise ValueError("on request")


def skipped_in_backward(model: nn.Module) -> None:
    """The second batch raises in its backward pass."""
    optimizer = sgd(model)
    for at in range(4):
        optimizer.zero_grad()
        with suppress(ValueError):
            answer = model(GIVEN)
            (Raising.apply(answer) if at == 1 else answer).square().mean().backward()
            optimizer.step()
