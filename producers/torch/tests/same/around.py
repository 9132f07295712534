"""Programs that do something with models: compile, copy, save, wrap, spread them; and programs that end otherwise."""

from __future__ import annotations

import copy
import io
import logging
import os
import pickle
import sys
import threading
import traceback
import warnings
from multiprocessing import get_context

import torch
import torch.distributed as dist
from same.showing import MLP, batches, program, show, show_state, train
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def _warm() -> nn.Module:
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8))
    model(torch.randn(2, 8)).sum().backward()
    return model


@program
def scripted_models() -> None:
    model = _warm()
    scripted = torch.jit.script(model)
    show("scripted", scripted(torch.ones(2, 8)), scripted.eval()(torch.ones(2, 8)))
    print(scripted.code, str(scripted.graph).count("\n"))
    scripted.save("scripted.pt")
    frozen = torch.jit.freeze(scripted.eval())
    show("frozen", frozen(torch.ones(2, 8)))
    show("loaded", torch.jit.load("scripted.pt")(torch.ones(2, 8)))
    scripted(torch.ones(2, 8)).sum().backward()
    show_state(scripted)


@program
def traced_models() -> None:
    model = _warm().eval()
    traced = torch.jit.trace(model, torch.ones(2, 8))
    print(traced.code)
    show("traced", traced(torch.randn(2, 8)), torch.jit.freeze(traced)(torch.ones(2, 8)), torch.jit.optimize_for_inference(traced)(torch.ones(2, 8)))
    model.requires_grad_(False)
    show("function", torch.jit.trace(lambda x: model(x) * 2, torch.ones(2, 8))(torch.ones(2, 8)))


@program
def symbolic_traces() -> None:
    graph = torch.fx.symbolic_trace(_warm())
    print(graph.code)
    show("traced", graph(torch.ones(2, 8)))
    graph(torch.ones(2, 8)).sum().backward()
    show_state(graph)
    print(torch.fx.experimental.proxy_tensor.make_fx(lambda x: torch.relu(x) + 1)(torch.ones(2)).code)


@program
def exported_models() -> None:
    model = _warm()
    exported = torch.export.export(model, (torch.ones(2, 8),))
    print(exported.graph_module.code, exported.graph_signature)
    show("exported", exported.module()(torch.ones(2, 8)))


class _Counted:
    """A backend that counts the graphs that it gets, and runs them as they are."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: torch.fx.GraphModule, example: list[Tensor]) -> object:
        self.graphs += 1
        print(graph.code)
        return graph.forward


@program
def compiled_models() -> None:
    torch.manual_seed(1)
    backend, model = _Counted(), MLP(p=0.0)
    train(torch.compile(model, backend=backend, fullgraph=True), batches(4, 8))
    print("graphs", backend.graphs)
    model.compile(backend=backend)
    train(model, batches(4, 8))
    print("graphs", backend.graphs)


@program
def compiled_functions() -> None:
    backend, model = _Counted(), MLP(p=0.0)
    model.first.register_forward_hook(lambda module, args, result: result * 2)

    @torch.compile(backend=backend, fullgraph=True)
    def step(x: Tensor) -> Tensor:
        return torch.softmax(model(x), -1) + 1

    for x in batches(4, 8):
        show("step", step(x), model(x))
    print("graphs", backend.graphs)


@program
def compiled_with_breaks() -> None:
    class Model(MLP):
        def forward(self, x: Tensor) -> Tensor:
            x = self.first(x)
            print("in the forward", bool(x.sum() > 0))
            return self.last(torch.relu(self.norm(x)))

    backend = _Counted()
    train(torch.compile(Model(), backend=backend), batches(4, 8, count=2))
    print("graphs", backend.graphs)


@program
def compiled_ahead_of_autograd() -> None:
    train(torch.compile(MLP(), backend="aot_eager"), batches(4, 8))


@program
def compiled_for_any_batch() -> None:
    backend, model = _Counted(), torch.compile(MLP(p=0.0), backend=_Counted(), dynamic=True)
    for size in (2, 3, 5):
        show("batch", model(torch.ones(size, 8)))
    with torch.inference_mode():
        show("inference", torch.compile(MLP(p=0.0), backend=backend)(torch.ones(2, 8)))
    print("graphs", backend.graphs)


@program
def copied_models() -> None:
    model = _warm()
    for copied in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        print(sorted(copied.__dict__), [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in copied.modules()])
        show("copied", copied(torch.ones(2, 8)))
    print(len(pickle.dumps(model)), pickle.dumps(model).find(b"tensortap"), [*model.state_dict()])


@program
def saved_models_and_optimizers() -> None:
    model = _warm()
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.step()
    torch.save(model, "model.pt")
    torch.save(model.state_dict(), "state.pt")
    torch.save({"model": model, "optimizer": optimizer.state_dict()}, "both.pt")
    with open("optimizer.pickle", "wb") as file:
        pickle.dump(optimizer, file)
    torch.save(model, "old.pt", _use_new_zipfile_serialization=False)
    show("loaded", torch.load("model.pt", weights_only=False)(torch.ones(2, 8)))
    with torch.package.PackageExporter("package.zip") as exporter:
        exporter.extern("torch.**")
        exporter.intern("**")
        exporter.save_pickle("model", "model.pkl", model)
    model.load_state_dict(torch.load("state.pt"))
    show_state(model)


@program
def a_copy_in_the_midst_of_training() -> None:
    model = MLP()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    train(model, batches(4, 8), optimizer)
    copied = copy.deepcopy(model)
    again = torch.optim.AdamW(copied.parameters(), 0.01)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for one, its in ((model, optimizer), (copied, again)):
        torch.manual_seed(2)
        train(one, batches(4, 8), its)


@program
def models_made_without_memory() -> None:
    state = MLP().state_dict()
    with torch.device("meta"):
        model, other = MLP(p=0.0), MLP(p=0.0)
    print(model(torch.ones(2, 8, device="meta")))
    model.load_state_dict(state, assign=True)
    other.to_empty(device="cpu").load_state_dict(state)
    for one in (model, other):
        train(one, [torch.ones(2, 8)])


@program
def hooks_on_state() -> None:
    model = _warm()
    model.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(more=torch.ones(1)))
    model.register_load_state_dict_pre_hook(lambda module, state, *_: state.pop("more", None))
    state = model.state_dict()
    print([*state], model.load_state_dict(state))


@program
def saved_tensors_with_hooks() -> None:
    x = torch.randn(3, requires_grad=True)
    x.register_hook(lambda gradient: None)
    x.sum().backward()
    buffer = io.BytesIO()
    torch.save([x, x.grad, nn.Parameter(x.detach())], buffer)
    print(len(buffer.getvalue()))
    show("copied", copy.deepcopy(x), torch.load(io.BytesIO(buffer.getvalue())))


class _Named(Tensor):
    """A tensor with a name, which goes from one to the next."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        print(getattr(func, "__name__", func), end=" ")
        return super().__torch_function__(func, types, args, kwargs or {})


@program
def tensors_of_a_class_of_their_own() -> None:
    x = torch.randn(4, 8).as_subclass(_Named)
    model = MLP(p=0.0)
    y = model(x)
    print(type(y).__name__)
    y.sum().backward()
    show_state(model)


class _Dispatched(Tensor):
    """A wrapper of a tensor."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner):  # type: ignore[no-untyped-def]
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        print(func, end=" ")
        bare, kwargs = torch.utils._pytree.tree_map_only(cls, lambda one: one.inner, (args, kwargs or {}))
        return torch.utils._pytree.tree_map_only(Tensor, cls, func(*bare, **kwargs))


@program
def tensors_that_dispatch() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    with torch.no_grad():
        y = model(_Dispatched(torch.randn(2, 8)))
    show("dispatched", y.inner)


class _Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        print(getattr(func, "__name__", func), end=" ")
        return func(*args, **(kwargs or {}))


class _Dispatches(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        print(func, end=" ")
        return func(*args, **(kwargs or {}))


@program
def modes_of_the_program() -> None:
    model = MLP()
    with _Functions():
        train(model, batches(4, 8, count=1))
    with _Dispatches():
        train(model, batches(4, 8, count=1))
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with torch.no_grad(), _Functions():
        show("encoder", encoder(torch.randn(2, 5, 8)))


@program
def fake_tensors_and_profiles() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        print(MLP()(torch.randn(4, 8)))
    model = MLP()
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counted:
        model(torch.randn(4, 8)).sum().backward()
    print(counted.get_total_flops())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        model(torch.randn(4, 8))
    print(sum(event.count for event in profiled.key_averages() if event.key == "aten::addmm"))


@program
def custom_operators() -> None:
    @torch.library.custom_op("same::doubled", mutates_args=())
    def doubled(x: Tensor) -> Tensor:
        return x * 2

    doubled.register_autograd(lambda context, gradient: gradient * 2)
    model = nn.Linear(8, 8)
    doubled(model(torch.randn(2, 8))).sum().backward()
    show_state(model)
    show("cond", torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(2),)))


@program
def threads_that_compute() -> None:
    model, results = MLP(p=0.0), {}

    def work(name: int) -> None:
        results[name] = model(torch.full((2, 8), float(name)))

    workers = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    show("results", [results[name] for name in range(3)])


def _group(rank: int, size: int, path: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=size)


@program
def data_parallel_of_one_process() -> None:
    _group(0, 1, os.path.abspath("store"))
    model = nn.parallel.DistributedDataParallel(MLP())
    train(model, batches(4, 8))
    dist.all_reduce(total := torch.ones(2))
    show("reduced", total)
    dist.destroy_process_group()
    os.unlink("store")


@program
def accumulation_without_synchronizing() -> None:
    _group(0, 1, os.path.abspath("store"))
    model = nn.parallel.DistributedDataParallel(MLP())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        with model.no_sync():
            model(torch.randn(4, 8)).sum().backward()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    show_state(model)
    dist.destroy_process_group()
    os.unlink("store")


@program
def fully_sharded_data_parallel() -> None:
    _group(0, 1, os.path.abspath("store"))
    model = nn.Sequential(MLP(p=0.0), MLP(p=0.0))
    mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
    for part in (*model, model):
        dist.fsdp.fully_shard(part, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for x in batches(4, 8, count=2):
        model(x).square().mean().backward()
        show("norm", nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor())
        optimizer.step()
        optimizer.zero_grad()
    for name, parameter in model.named_parameters():
        show(name, parameter.full_tensor())
    dist.destroy_process_group()
    os.unlink("store")


def _rank(rank: int, path: str) -> None:
    _group(rank, 2, path)
    torch.manual_seed(rank)
    sys.stdout = open(f"rank{rank}.txt", "w", encoding="utf-8")
    train(nn.parallel.DistributedDataParallel(MLP()), batches(4, 8))
    sys.stdout.close()
    dist.destroy_process_group()


@program
def data_parallel_of_two_processes() -> None:
    processes = [get_context("fork").Process(target=_rank, args=(rank, os.path.abspath("store"))) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print([process.exitcode for process in processes])
    os.path.exists("store") and os.unlink("store")


@program
def a_language_model() -> None:
    transformers = sys.modules.get("transformers") or __import__("transformers")
    config = transformers.LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2)
    model = transformers.LlamaForCausalLM(config)
    tokens = torch.randint(64, (2, 6))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for _ in range(2):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        show("loss", loss)
    model.eval()
    show("greedy", model.generate(tokens, max_new_tokens=4, do_sample=False, pad_token_id=0))
    show("sampled", model.generate(tokens, max_new_tokens=4, do_sample=True, pad_token_id=0))
    model.save_pretrained("llama")
    os.unlink("llama/model.safetensors") if os.path.exists("llama/model.safetensors") else None
    show_state(model)


@program
def a_language_model_that_serves() -> None:
    transformers = sys.modules.get("transformers") or __import__("transformers")
    config = transformers.LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1)
    model = transformers.LlamaForCausalLM(config).eval()
    tokens = torch.randint(64, (2, 6))
    for context in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu", torch.bfloat16)):
        with context, torch.inference_mode():
            found = model(tokens, use_cache=True)
            show("logits", found.logits, model(tokens[:, :1], past_key_values=found.past_key_values).logits)


class _Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 1e6:
            raise ValueError("too much")
        return self.layer(x)


@program
def a_forward_that_raises() -> None:
    nn.Sequential(nn.Linear(8, 8), _Fails())(torch.full((2, 8), 1e9)).sum().backward()
    nn.Sequential(_Fails())(torch.full((2, 8), 1e9))


@program
def a_shape_that_does_not_fit() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(4, 4))
    try:
        model(torch.randn(2, 8))
    except RuntimeError as error:
        traceback.print_exc()
        print([frame.name for frame in traceback.extract_tb(error.__traceback__)], vars(error))
    model(torch.randn(2, 8))


@program
def an_operator_that_raises() -> None:
    model = MLP(p=0.0)
    model(torch.randn(2, 8)).sum().backward()
    torch.ones(2) @ torch.ones(3)


@program
def a_backward_that_raises() -> None:
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(context, x):  # type: ignore[no-untyped-def]
            return x * 1

        @staticmethod
        def backward(context, gradient):  # type: ignore[no-untyped-def]
            raise KeyError("in the backward")

    model = nn.Linear(8, 8)
    Raises.apply(model(torch.randn(2, 8))).sum().backward()


@program
def a_hook_that_raises() -> None:
    def hook(module: nn.Module, args: object, result: Tensor) -> None:
        raise LookupError("in a hook")

    model = MLP()
    model.norm.register_forward_hook(hook)
    model.last.register_forward_hook(lambda *_: print("always"), always_call=True)
    model(torch.randn(2, 8))


@program
def a_graph_run_twice_that_is_gone() -> None:
    loss = MLP()(torch.randn(2, 8)).sum()
    loss.backward()
    loss.backward()


@program
def an_exception_that_is_pickled() -> None:
    try:
        nn.Sequential(_Fails())(torch.full((2, 8), 1e9))
    except ValueError as error:
        print(pickle.dumps(error), vars(error), error.args)


@program
def a_status_of_its_own() -> None:
    MLP()(torch.randn(2, 8))
    sys.exit(7)


@program
def an_interrupt() -> None:
    class Interrupted(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise KeyboardInterrupt

    nn.Sequential(nn.Linear(8, 8), Interrupted())(torch.randn(2, 8))


class _InterruptedBackward(torch.autograd.Function):
    @staticmethod
    def forward(context, x):  # type: ignore[no-untyped-def]
        return x * 1

    @staticmethod
    def backward(context, gradient):  # type: ignore[no-untyped-def]
        raise KeyboardInterrupt


@program
def an_interrupt_after_which_training_goes_on() -> None:
    model = MLP(p=0.0)
    for _ in range(2):
        try:
            _InterruptedBackward.apply(model(torch.randn(2, 8))).sum().backward()
        except KeyboardInterrupt as error:
            print([frame.name for frame in traceback.extract_tb(error.__traceback__)][:1])
        model.zero_grad()
        train(model, batches(4, 8, count=2))


class _Warns(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        for level in range(1, 5):
            warnings.warn(f"level {level}", stacklevel=level)
        logging.getLogger("program").warning("logged", stacklevel=2)
        print(sys._getframe().f_back.f_back.f_code.co_name, [frame.name for frame in traceback.extract_stack()][-4:])
        return self.layer(x)


@program
def warnings_and_callers() -> None:
    logging.basicConfig(format="%(filename)s %(funcName)s %(message)s")
    model = nn.Sequential(_Warns())
    for _ in range(2):
        model(torch.randn(2, 8))
    print(warnings.filters, warnings.showwarning.__module__, sys.excepthook is sys.__excepthook__)


@program
def warnings_that_are_errors() -> None:
    warnings.simplefilter("error")
    model = torch.compile(nn.Linear(8, 8), backend="eager")
    show("compiled", model(torch.ones(2, 8)))
    _Warns()(torch.randn(2, 8))


@program
def warnings_of_functions_in_python() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Softmax())
    for _ in range(2):
        show("softmax", model(torch.ones(2, 4)), nn.functional.softmax(torch.ones(2, 2)))


@program
def a_function_in_python_that_raises() -> None:
    MLP()(torch.randn(2, 8))
    nn.functional.cross_entropy(torch.ones(2, 3), torch.ones(2, 3, 4))


@program
def recursion_that_does_not_end() -> None:
    class Recursive(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return self(x)

    try:
        nn.Sequential(nn.Linear(2, 2), Recursive())(torch.ones(2, 2))
    except RecursionError as error:
        print(str(error)[:32])
