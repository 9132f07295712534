"""What is attached to in engines is there, under the names that we use: in the sources of their wheels, which are not installed."""

from __future__ import annotations

import ast
import os
import zipfile
from functools import cache
from pathlib import Path

import pytest

from tensortap._health import topology
from tensortap.integrations import sglang, sglang_diffusion

WHEELS = Path(os.environ.get("TENSORTAP_WHEELS", Path(__file__).resolve().parents[3] / ".tools" / "wheels"))


@cache
def source(package: str, path: str) -> str:
    """The text of a file in a wheel. There is none only where nobody asked for all tests to run."""
    found = sorted(WHEELS.glob(f"{package}-*.whl"))
    if not found and not os.environ.get("REQUIRE_SERVICES"):
        pytest.skip(f"no wheel of {package} in {WHEELS}: make wheels")
    with zipfile.ZipFile(found[-1]) as wheel:
        return wheel.read(path).decode()


def class_of(text: str, name: str) -> ast.ClassDef:
    return next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == name)


def parameters(text: str, owner: str, method: str) -> list[str]:
    """The names of a method's parameters, in order, without self."""
    found = next(node for node in class_of(text, owner).body if isinstance(node, ast.FunctionDef) and node.name == method)
    return [parameter.arg for parameter in found.args.args][1:]


def fields(text: str, owner: str) -> set[str]:
    """The names that the body of a class assigns or annotates."""
    names: set[str] = set()
    for node in class_of(text, owner).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def functions(text: str) -> set[str]:
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


RUNNER = "sglang/srt/model_executor/model_runner.py"
BATCH = "sglang/srt/model_executor/forward_batch_info.py"


def test_sglang_runs_a_step_in_forward() -> None:
    text = source("sglang", RUNNER)
    assert parameters(text, "ModelRunner", "forward")[0] == "forward_batch"
    assert "init_cuda_graphs" in {node.name for node in class_of(text, "ModelRunner").body if isinstance(node, ast.FunctionDef)}
    assert "self.is_draft_worker = " in text
    assert "self.model = " in text


def test_sglang_says_what_a_step_serves() -> None:
    text = source("sglang", BATCH)
    assert {"forward_mode", "batch_size", "input_ids", "rids"} <= fields(text, "ForwardBatch")
    assert {*sglang.PHASES, "IDLE"} <= fields(text, "ForwardMode")


def test_sglang_makes_batches_of_requests_with_their_prompts() -> None:
    text = source("sglang", BATCH)
    assert parameters(text, "ForwardBatch", "init_new")[:2] == ["batch", "model_runner"]
    assert {"extend_seq_lens_cpu", "extend_prefix_lens_cpu", "seq_lens_cpu"} <= fields(text, "ForwardBatch")
    request = source("sglang", "sglang/srt/managers/schedule_batch.py")
    assert all(f"self.{name} = " in request for name in ("origin_input_ids", "origin_input_ids_unpadded", "tokenizer"))
    assert "req.tokenizer = self.tokenizer" in source("sglang", "sglang/srt/managers/scheduler.py")
    assert "    ForwardBatch,\n" in source("sglang", RUNNER)


def test_sglang_loads_a_model_and_says_what_it_replays() -> None:
    text = source("sglang", RUNNER)
    assert parameters(text, "ModelRunner", "load_model") == []
    assert "can_run_graph" in fields(text, "ModelRunnerOutput")


def test_sglang_makes_each_picture_in_one_method_of_its_worker() -> None:
    worker = class_of(source("sglang", "sglang/multimodal_gen/runtime/managers/gpu_worker.py"), "GPUWorker")
    assert sglang_diffusion.REQUEST in {node.name for node in worker.body if isinstance(node, ast.FunctionDef)}
    entries = {"execute_forward", "execute_forward_sequentially", "_execute_forward_batch"}
    calling = {node.name for node in worker.body if isinstance(node, ast.FunctionDef) and f"self.{sglang_diffusion.REQUEST}(" in ast.unparse(node)}
    assert calling == entries


def test_sglang_names_its_health_checks() -> None:
    assert f'HEALTH_CHECK_RID_PREFIX = "{sglang.HEALTH_CHECK}"' in source("sglang", "sglang/srt/constants.py")


def test_sglang_warms_itself_up_by_functions_of_its_server() -> None:
    server = source("sglang", "sglang/srt/entrypoints/http_server.py")
    assert "_wait_and_warmup" in functions(server) and "target=_wait_and_warmup" in server
    assert "await execute_warmups(" in server and "TokenizerManager" in server
    manager = source("sglang", "sglang/srt/managers/tokenizer_manager.py")
    taken = next(node for node in class_of(manager, "TokenizerManager").body if getattr(node, "name", "") == "generate_request")
    assert isinstance(taken, ast.AsyncFunctionDef) and [parameter.arg for parameter in taken.args.args][:2] == ["self", "obj"]
    assert "self.server_status = ServerStatus.Starting" in manager and 'Starting = "Starting"' in manager
    requests = source("sglang", "sglang/srt/managers/io_struct.py")
    assert "if self.rid is None:" in requests and 'new_rids = [f"{self.rid}_{i}" for i in range(num)]' in requests


def test_sglang_keeps_the_use_of_its_kv_cache_on_the_host() -> None:
    assert "self.token_to_kv_pool_allocator = " in source("sglang", RUNNER)
    base = class_of(source("sglang", "sglang/srt/mem_cache/allocator/base.py"), "BaseTokenToKVPoolAllocator")
    body = ast.unparse(base)
    assert "self.size = size" in body and "def get_kvcache(" in body and "def available_size(" in body
    assert "len(self.free_pages)" in body  # which asks no device
    windowed = ast.unparse(class_of(source("sglang", "sglang/srt/mem_cache/allocator/swa.py"), "SWATokenToKVPoolAllocator"))
    assert all(f"def {name}(" in windowed for name in ("size_swa", "full_available_size", "swa_available_size"))
    assert "def get_kv_size_bytes(" in ast.unparse(class_of(source("sglang", "sglang/srt/mem_cache/memory_pool.py"), "MHATokenToKVPool"))
    pools = source("sglang", "sglang/srt/mem_cache/swa_memory_pool.py")
    assert all(f"self.{name} = " in pools for name in ("full_kv_pool", "swa_kv_pool"))


def test_sglang_carries_a_residual_stream_and_names_its_logits() -> None:
    assert "residual_stream" in fields(source("sglang", "sglang/srt/model_executor/forward_batch_info.py"), "ForwardBatch")
    stream = ast.unparse(class_of(source("sglang", "sglang/srt/layers/layer_boundary/residual/stream.py"), "ResidualStream"))
    assert "self.residual = " in stream and "self.pending = " in stream
    assert "next_token_logits" in fields(source("sglang", "sglang/srt/layers/logits_processor.py"), "LogitsProcessorOutput")


def test_sglang_knows_its_place() -> None:
    assert "get_parallel" in source("sglang", "sglang/srt/runtime_context.py")
    declared = source("sglang", "sglang/srt/arg_groups/fields/parallel.py")
    for name in {name for names in topology._SGLANG_NAMES.values() for name in names}:
        assert f"    {name}" in declared, name


def test_sglang_calls_plug_ins() -> None:
    assert '"sglang.srt.plugins"' in source("sglang", "sglang/srt/plugins/__init__.py")


def test_vllm_runs_a_step_in_execute_model() -> None:
    text = source("vllm", "vllm/v1/worker/gpu_worker.py")
    assert parameters(text, "Worker", "execute_model") == ["scheduler_output"]
    assert parameters(text, "Worker", "get_model") == []


def test_vllm_warms_itself_up_in_a_method_of_its_worker() -> None:
    text = source("vllm", "vllm/v1/worker/gpu_worker.py")
    methods = {node.name: ast.unparse(node) for node in class_of(text, "Worker").body if isinstance(node, ast.FunctionDef)}
    assert "compile_or_warm_up_model" in methods
    assert [name for name, body in methods.items() if "self.execute_model," in body] in (["compile_or_warm_up_model"], ["_compile_or_warm_up_model"])


def test_vllm_loads_and_ends_in_methods() -> None:
    text = source("vllm", "vllm/v1/worker/gpu_worker.py")
    assert {"load_model", "shutdown"} <= {node.name for node in class_of(text, "Worker").body if isinstance(node, ast.FunctionDef)}


def test_vllm_knows_the_order_of_a_batch_and_what_is_hidden() -> None:
    assert "self.input_batch = InputBatch(" in source("vllm", "vllm/v1/worker/gpu_model_runner.py")
    assert "def req_ids(" in source("vllm", "vllm/v1/worker/gpu_input_batch.py")
    text = source("vllm", "vllm/forward_context.py")
    assert "get_forward_context" in functions(text)
    assert {"cudagraph_runtime_mode", "skip_compiled"} <= fields(text, "ForwardContext")
    assert "self.do_not_compile = " in source("vllm", "vllm/compilation/decorators.py")


def test_vllm_keeps_its_block_tables_on_the_host() -> None:
    first = source("vllm", "vllm/v1/worker/gpu_model_runner.py")
    assert "self.kv_caches: list[torch.Tensor] = []" in first and "self.kv_cache_config = kv_cache_config" in first
    assert "num_blocks" in fields(source("vllm", "vllm/v1/kv_cache_interface.py"), "KVCacheConfig")
    batch = source("vllm", "vllm/v1/worker/gpu_input_batch.py")
    assert "self.block_table = MultiGroupBlockTable(" in batch and "def num_reqs(" in batch
    tables = source("vllm", "vllm/v1/worker/block_table.py")
    assert all(text in tables for text in ("self.block_tables = [", "self.num_blocks_per_row = np.zeros(", "self.block_table.np[row_idx"))
    second = source("vllm", "vllm/v1/worker/gpu/model_runner.py")
    assert all(f"self.{name} = " in second for name in ("kv_caches", "kv_cache_config", "block_tables", "req_states"))
    assert "self.num_blocks = UvaBackedTensor(" in source("vllm", "vllm/v1/worker/gpu/block_table.py")
    assert "self.req_id_to_index: " in source("vllm", "vllm/v1/worker/gpu/states.py")


def test_vllm_says_what_a_step_serves() -> None:
    text = source("vllm", "vllm/v1/core/sched/output.py")
    wanted = {"scheduled_new_reqs", "scheduled_cached_reqs", "num_scheduled_tokens", "total_num_scheduled_tokens", "finished_req_ids"}
    assert wanted <= fields(text, "SchedulerOutput")
    assert {"req_id", "prompt_token_ids", "num_computed_tokens"} <= fields(text, "NewRequestData")
    assert {"req_ids", "num_computed_tokens"} <= fields(text, "CachedRequestData")


def test_vllm_has_models_that_draft() -> None:
    assert "self.drafter = " in source("vllm", "vllm/v1/worker/gpu_model_runner.py")
    assert "self.speculator = " in source("vllm", "vllm/v1/worker/gpu/model_runner.py")


def test_vllm_has_a_tokenizer_for_who_asks() -> None:
    text = source("vllm", "vllm/tokenizers/registry.py")
    assert "cached_tokenizer_from_config" in functions(text) and "cached_get_tokenizer = lru_cache(get_tokenizer)" in text
    assert "    cached_tokenizer_from_config,\n" in source("vllm", "vllm/tokenizers/__init__.py")
    assert parameters(source("vllm", "vllm/tokenizers/protocol.py"), "TokenizerLike", "decode")[0] == "ids"


def test_vllm_knows_its_place() -> None:
    text = source("vllm", "vllm/distributed/parallel_state.py")
    assert set(topology._VLLM_NAMES.values()) <= functions(text)
    assert {"rank_in_group", "world_size"} <= fields(text, "GroupCoordinator")
    assert {"data_parallel_rank", "world_size"} <= fields(source("vllm", "vllm/config/parallel.py"), "ParallelConfig")
    assert parameters(source("vllm", "vllm/model_executor/layers/fused_moe/config.py"), "FusedMoEConfig", "use_ep") == []
    assert "self.moe_config = moe_config" in source("vllm", "vllm/model_executor/layers/fused_moe/runner/moe_runner.py")


def test_vllm_calls_plug_ins() -> None:
    assert '"vllm.general_plugins"' in source("vllm", "vllm/plugins/__init__.py")
