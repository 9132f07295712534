"""A loop of reinforcement learning, as small as can be: a trainer of a mixture of experts in plain PyTorch, and vLLM that samples: rl_vllm.py FOLDER FAULT...

Faults, for each a run of rollout and one of trainer: right, unsynchronised, temperature, and those of rl_faults.py. One vLLM serves
them all, so that it starts once: each fault begins with an update of the weights. The folder takes the weights on their way.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # the model is in this process

import rl_faults
import torch
from torch import Tensor
from torch.nn.functional import log_softmax
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
from vllm import LLM, SamplingParams

import tensortap

WORDS, STEPS, PROMPTS, ANSWER, SAMPLES = 64, 4, 4, 8, 2
BLOCK, PROMPT = 32, 38  # tokens that are cached together, and those of a prompt, of which one block is cached
UNSYNCHRONISED, COOL = 2, 0.7  # an update that does not reach the rollout; a temperature
IN_ENGINE: dict[str, Callable[[Any, torch.nn.Module], Callable[[], None]]] = {"positions": rl_faults.positions, "router": rl_faults.router}


def policy() -> Qwen3MoeForCausalLM:
    """What learns; of the same random weights each time, large enough for some words to be likelier than others."""
    torch.manual_seed(1)
    return Qwen3MoeForCausalLM(
        Qwen3MoeConfig(
            vocab_size=WORDS, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=32,
            num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64, norm_topk_prob=True,
            max_position_embeddings=64, initializer_range=0.15, bos_token_id=None, eos_token_id=None,
        )
    )


class Rollout:
    """A vLLM."""

    def __init__(self, folder: Path) -> None:
        policy().save_pretrained(folder)
        limits: dict[str, Any] = {"max_model_len": 64, "max_num_seqs": PROMPTS, "max_num_batched_tokens": PROMPTS * PROMPT, "block_size": BLOCK}
        self._llm = LLM(
            str(folder), dtype="float32", enforce_eager=True, skip_tokenizer_init=True, enable_prefix_caching=True, logprobs_mode="processed_logprobs", seed=0, **limits
        )
        self.folder = folder

    def model(self) -> torch.nn.Module:
        """The module that it calls."""
        found: list[torch.nn.Module] = self._llm.apply_model(lambda model: model)
        return found[0]

    def worker(self) -> Any:
        """What calls the module."""
        return self._llm.collective_rpc(lambda worker: worker)[0]

    def update(self, trained: Qwen3MoeForCausalLM) -> None:
        """Take the trainer's weights, by way of files, as vLLM reads a checkpoint, and forget what the ones before computed."""
        trained.save_pretrained(self.folder)
        self._llm.collective_rpc("reload_weights")
        pack_experts(self.model())
        self._llm.reset_prefix_cache()

    def sample(self, prompts: Tensor, temperature: float) -> tuple[Tensor, Tensor, list[int]]:
        """Answers, the log-probabilities of their tokens under what they were drawn from, and how many tokens of each prompt were cached."""
        how = SamplingParams(temperature=temperature, max_tokens=ANSWER, ignore_eos=True, logprobs=0, detokenize=False)
        requests = self._llm.generate([{"prompt_token_ids": ids} for ids in prompts.tolist()], how, use_tqdm=False)
        answers = [one.outputs[0] for one in requests]
        logs = [[at[token].logprob for at, token in zip(one.logprobs, one.token_ids, strict=True)] for one in answers]
        return torch.tensor([list(one.token_ids) for one in answers]), torch.tensor(logs), [one.num_cached_tokens for one in requests]


def pack_experts(model: torch.nn.Module) -> None:
    """Lay out the weights of experts as the CPU's kernel reads them: vLLM 0.32.0 does so at the first load, and forgets it when it reloads."""
    for module in model.modules():
        if kernel := getattr(getattr(module, "quant_method", None), "moe_kernel", None):
            kernel.fused_experts.process_weights_after_loading(module)


def tell(tap: tensortap.Session, step: int, sample: int, prompts: Tensor, ids: Tensor, logs: Tensor, cached: list[int] | None = None) -> None:
    """The tap, of the tokens of a step."""
    for number, prompt in enumerate(prompts):
        told: dict[str, Any] = {"prompt": prompt, "sample": sample, "positions": PROMPT, "ids": ids[number], "logprobs": logs[number]}
        tap.tokens(**told, global_step=step, cached=cached[number] if cached else None)


def train(model: Qwen3MoeForCausalLM, optimizer: torch.optim.Optimizer, prompts: Tensor, ids: Tensor) -> Tensor:
    """One update, for words of even numbers; the log-probabilities before it."""
    logits = model(input_ids=torch.cat((prompts, ids), 1), use_cache=False).logits
    logs = log_softmax(logits[:, PROMPT - 1 : -1], -1).gather(2, ids[..., None])[..., 0]
    optimizer.zero_grad()
    (-(((ids % 2 == 0).float() - 0.5) * logs).mean()).backward()
    optimizer.step()
    return logs.detach()


def loop(rollout: Rollout, fault: str) -> None:
    """Sample, and train on it, as often as there are steps. Of each prompt the second answer begins with the cached prefix of the first."""
    model = policy()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    settings: dict[str, Any] = {"level": "L0", "scope": ["*.gate"]}
    with tensortap.tap(rollout.model(), run=f"rollout-{fault}", **settings) as acts, tensortap.tap(model, run=f"trainer-{fault}", **settings) as learns:
        for step in range(STEPS):
            if not (fault == "unsynchronised" and step == UNSYNCHRONISED):
                rollout.update(model)
            acts.weights(step)
            learns.weights(step)
            prompts = torch.randint(WORDS, (PROMPTS, PROMPT), generator=torch.Generator().manual_seed(step))
            acts.start()
            answers = []
            for sample in range(SAMPLES):
                ids, logs, cached = rollout.sample(prompts, COOL if fault == "temperature" else 1.0)
                tell(acts, step, sample, prompts, ids, logs, cached)
                answers.append(ids)
            acts.step()
            learns.start()
            logs = train(model, optimizer, prompts.repeat(SAMPLES, 1), torch.cat(answers))
            for sample, ids in enumerate(answers):
                tell(learns, step, sample, prompts, ids, logs[sample * PROMPTS : (sample + 1) * PROMPTS])
            learns.step()


if __name__ == "__main__":
    torch.set_num_threads(1)
    served = Rollout(Path(sys.argv[1]))
    for name in sys.argv[2:]:
        undo = IN_ENGINE[name](served.worker(), served.model()) if name in IN_ENGINE else None
        loop(served, name)
        if undo:
            undo()
