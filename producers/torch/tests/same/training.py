"""Programs that differ in how they train."""

from __future__ import annotations

import copy
import warnings

import torch
from same.showing import MLP, batches, program, show, show_state, train
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils import checkpoint
from torch.utils.data import DataLoader, TensorDataset


@program
def autocast_of_bfloat16() -> None:
    model = MLP()
    with torch.autocast("cpu", torch.bfloat16):
        train(model, batches(4, 8))


@program
def autocast_of_float16_with_a_scaler() -> None:
    model, scaler = MLP(), torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x in batches(4, 8, count=6):
        with torch.autocast("cpu", torch.float16):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        print(scaler.get_scale())
    show_state(model)


class _Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.block, self.reentrant = MLP(), reentrant

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint.checkpoint(self.block, checkpoint.checkpoint(self.block, x, use_reentrant=self.reentrant), use_reentrant=self.reentrant)


@program
def checkpointing_without_reentry() -> None:
    train(_Checkpointed(False), batches(4, 8))


@program
def checkpointing_with_reentry() -> None:
    train(_Checkpointed(True), [x.requires_grad_() for x in batches(4, 8)])


def _saves_products(context: object, op: object, *args: object, **kwargs: object) -> checkpoint.CheckpointPolicy:
    return checkpoint.CheckpointPolicy.MUST_SAVE if op is torch.ops.aten.addmm.default else checkpoint.CheckpointPolicy.PREFER_RECOMPUTE


@program
def checkpointing_of_chosen_operations() -> None:
    model = MLP()
    for x in batches(4, 8):
        checkpoint.checkpoint(model, x, use_reentrant=False, context_fn=lambda: checkpoint.create_selective_checkpoint_contexts(_saves_products)).sum().backward()
    show_state(model)


@program
def gradients_of_gradients() -> None:
    model, x = MLP(p=0.0), torch.randn(4, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    gradient.square().sum().backward(retain_graph=True)
    show("penalty", gradient, x.grad)
    show("hessian", torch.autograd.functional.hessian(lambda y: model(y).square().sum(), torch.randn(1, 8)))
    show_state(model)


@program
def graph_run_twice() -> None:
    model = MLP()
    loss = model(torch.randn(4, 8)).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    show_state(model)


@program
def functional_transforms() -> None:
    from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

    model = MLP(p=0.0)
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(given: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(model, given, (x,)).square().sum()

    x = torch.randn(3, 8)
    show("per sample", vmap(grad(loss), in_dims=(None, 0))(parameters, x))
    show("jacobians", jacrev(model)(x[0]), jacfwd(model)(x[0]), hessian(torch.sin)(torch.randn(2)))
    show("products", *jvp(model, (x,), (x,)), vjp(model, x)[1](x)[0])
    show("random", vmap(lambda y: torch.nn.functional.dropout(y), randomness="different")(x))


@program
def gradients_forward_and_batched() -> None:
    model, x = MLP(p=0.0), torch.randn(3, 8, requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        show("forward", *torch.autograd.forward_ad.unpack_dual(model(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))))
    y = model(x)
    show("batched", *torch.autograd.grad(y, x, torch.eye(24).view(24, 3, 8), is_grads_batched=True, retain_graph=True))
    y.sum().backward(inputs=[x, model.last.weight], retain_graph=True)
    torch.autograd.backward([y.sum(), y.square().sum()])
    show("gradients", x.grad)
    show_state(model)


class _Cubed(torch.autograd.Function):
    @staticmethod
    def forward(context, x):  # type: ignore[no-untyped-def]
        context.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(context, gradient):  # type: ignore[no-untyped-def]
        (x,) = context.saved_tensors
        return gradient * 3 * x**2


@program
def functions_with_a_backward_of_their_own() -> None:
    class Model(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            return _Cubed.apply(super().forward(x))

    train(Model(nn.Linear(8, 8)), batches(4, 8))


class _Sine(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):  # type: ignore[no-untyped-def]
        return x.sin()

    @staticmethod
    def setup_context(context, inputs, output):  # type: ignore[no-untyped-def]
        context.save_for_backward(*inputs)

    @staticmethod
    def backward(context, gradient):  # type: ignore[no-untyped-def]
        return gradient * context.saved_tensors[0].cos()


@program
def a_backward_of_its_own_run_twice() -> None:
    x = MLP()(torch.randn(8))
    for function in (_Cubed.apply, _Sine.apply):
        (gradient,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        show("twice", gradient, *torch.autograd.grad(gradient.sum(), x))
    show("mapped", torch.func.vmap(torch.func.grad(_Sine.apply))(x.detach()))
    print(torch.autograd.gradcheck(_Sine.apply, torch.randn(3, dtype=torch.float64, requires_grad=True)))


@program
def hooks_of_the_program() -> None:
    model = MLP(p=0.0)
    told: list[str] = []
    handles = [
        model.first.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
        model.first.register_forward_hook(lambda module, args, result: result + 1),
        model.last.register_forward_pre_hook(lambda module, args, kwargs: told.append(f"kwargs {sorted(kwargs)}"), with_kwargs=True),
        model.norm.register_full_backward_hook(lambda module, made, given: told.append(f"backward {len(made)} {len(given)}")),
        model.last.register_full_backward_pre_hook(lambda module, given: tuple(gradient * 2 for gradient in given)),
        model.last.weight.register_hook(lambda gradient: gradient * 0.5),
        model.first.weight.register_post_accumulate_grad_hook(lambda parameter: told.append("accumulated")),
        nn.modules.module.register_module_forward_hook(lambda module, args, result: told.append(type(module).__name__)),
        register_optimizer_step_post_hook(lambda *_: told.append("stepped")),
    ]
    train(model, batches(4, 8))
    print(told, [[*module._forward_hooks] == [handle.id for handle in handles if handle.id in module._forward_hooks] for module in model.modules()])
    print([handle.id - handles[0].id for handle in handles])
    for handle in handles:
        handle.remove()
    train(model, batches(4, 8))


@program
def hooks_on_graphs() -> None:
    x = torch.randn(4, requires_grad=True)
    y = (x * 2).relu()
    y.register_hook(lambda gradient: gradient + 1)
    y.grad_fn.register_prehook(lambda gradients: tuple(gradient * 3 for gradient in gradients))
    y.retain_grad()
    with torch.autograd.graph.save_on_cpu(), torch.autograd.graph.saved_tensors_hooks(lambda saved: saved * 1, lambda saved: saved):
        z = y.exp()
    z.sum().backward()
    show("hooked", y.grad, x.grad)


def _with(make, **settings):  # type: ignore[no-untyped-def]
    model = MLP(p=0.0)
    train(model, batches(4, 8), make(model.parameters(), lr=0.01, **settings))


@program
def optimizers() -> None:
    optim = torch.optim
    for make in (optim.SGD, optim.Adam, optim.Adagrad, optim.RMSprop, optim.NAdam, optim.RAdam, optim.Adamax, optim.Rprop, optim.ASGD):
        _with(make)
    for settings in ({"fused": True}, {"foreach": True}, {"foreach": False, "amsgrad": True}, {"capturable": False, "maximize": True}):
        _with(optim.AdamW, **settings)


@program
def optimizers_within_the_backward() -> None:
    model = MLP()
    optimizers = {parameter: torch.optim.Adam([parameter], 0.01) for parameter in model.parameters()}

    def step(parameter: Tensor) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    for x in batches(4, 8):
        model(x).square().mean().backward()
    show_state(model)


@program
def lbfgs() -> None:
    model, x = MLP(p=0.0), torch.randn(4, 8)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    for _ in range(2):
        show("loss", optimizer.step(closure))
    show_state(model)


@program
def averaged_models_and_schedules() -> None:
    model = MLP()
    averaged = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    for x in batches(4, 8, count=4):
        model(x).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=False)
        averaged.update_parameters(model)
        print(schedule.get_last_lr())
    torch.optim.swa_utils.update_bn(batches(4, 8), averaged)
    show_state(averaged)


@program
def gradient_accumulation_and_target_network() -> None:
    model = MLP()
    target = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        for x in batches(4, 8, count=2):
            (model(x) - target(x)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for mine, theirs in zip(target.parameters(), model.parameters(), strict=True):
                mine.lerp_(theirs, 0.1)
    show_state(target)


@program
def loaders_with_workers() -> None:
    data = TensorDataset(torch.randn(8, 8))
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=2, multiprocessing_context="fork")
    train(MLP(), [(x,) for _ in range(2) for (x,) in loader])


@program
def deterministic_algorithms() -> None:
    torch.use_deterministic_algorithms(True)
    train(MLP(), batches(4, 8))
    show("empty", torch.empty(3))


@program
def anomaly_detection() -> None:
    with torch.autograd.detect_anomaly(check_nan=True):
        train(MLP(), batches(4, 8))
        x = torch.zeros(2, requires_grad=True)
        (x / x).sum().backward()


@program
def default_device_and_dtype() -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("cpu")
    train(MLP(), batches(4, 8))
    torch.set_default_device("meta")
    print(nn.Linear(2, 2).weight.device, torch.get_default_device())
    with torch.device("cpu"):
        show("on the cpu", torch.ones(2))
    torch.set_default_device(None)
    print(torch.ones(1).device, torch.get_default_dtype())


@program
def generators_of_random_numbers() -> None:
    generator = torch.Generator().manual_seed(3)
    model = MLP(p=0.5)
    show("drawn", torch.randn(4, generator=generator), torch.randperm(5), torch.multinomial(torch.ones(5), 3), torch.bernoulli(torch.full((4,), 0.5)))
    with torch.random.fork_rng():
        show("forked", model(torch.randn(2, 8)))
    show("dropped", model(torch.randn(2, 8)), generator.get_state())
    nn.init.trunc_normal_(model.first.weight)
    show_state(model)


@program
def flat_and_frozen_parameters() -> None:
    model = MLP()
    model.first.requires_grad_(False)
    train(model, batches(4, 8))
    vector = nn.utils.parameters_to_vector(model.parameters())
    nn.utils.vector_to_parameters(vector * 2, model.parameters())
    show("flat", vector)
    with torch.inference_mode():
        show("inference", model(torch.randn(2, 8)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        show("softmax", nn.Softmax()(torch.randn(2, 3)))
    print([(str(one.message), one.category.__name__) for one in caught])
