"""A loop of reinforcement learning, as small as can be: a trainer of a Llama in plain PyTorch, and vLLM that samples: rl_vllm.py FOLDER FAULT...

Faults, for each a run of rollout and one of trainer: right, unsynchronised, temperature. One vLLM serves them all, so that it
starts once: each fault begins with an update of the weights. The folder takes the weights on their way.
"""

import os
import sys
from pathlib import Path
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # the model is in this process

import torch
from torch import Tensor
from torch.nn.functional import log_softmax
from transformers import LlamaConfig, LlamaForCausalLM
from vllm import LLM, SamplingParams

import tensortap

WORDS, STEPS, PROMPTS, PROMPT, ANSWER = 64, 4, 4, 6, 8
UNSYNCHRONISED, COOL = 2, 0.7  # an update that does not reach the rollout; a temperature


def policy() -> LlamaForCausalLM:
    """What learns; of the same random weights each time, large enough for words to be more and less likely."""
    torch.manual_seed(1)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
            max_position_embeddings=64, initializer_range=0.2, bos_token_id=None, eos_token_id=None,
        )
    )


class Rollout:
    """A vLLM."""

    def __init__(self, folder: Path) -> None:
        policy().save_pretrained(folder)
        limits: dict[str, Any] = {"max_model_len": 32, "max_num_seqs": PROMPTS, "max_num_batched_tokens": 64}
        self._llm = LLM(
            str(folder), dtype="float32", enforce_eager=True, skip_tokenizer_init=True, enable_prefix_caching=False, logprobs_mode="processed_logprobs", seed=0, **limits
        )
        self.folder = folder

    def model(self) -> torch.nn.Module:
        """The module that it calls."""
        found: list[torch.nn.Module] = self._llm.apply_model(lambda model: model)
        return found[0]

    def update(self, trained: LlamaForCausalLM) -> None:
        """Take the trainer's weights, by way of files, as vLLM reads a checkpoint."""
        trained.save_pretrained(self.folder)
        self._llm.collective_rpc("reload_weights")

    def sample(self, prompts: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """Answers, and the log-probabilities of their tokens under what they were drawn from."""
        how = SamplingParams(temperature=temperature, max_tokens=ANSWER, ignore_eos=True, logprobs=0, detokenize=False)
        answers = [one.outputs[0] for one in self._llm.generate([{"prompt_token_ids": ids} for ids in prompts.tolist()], how, use_tqdm=False)]
        logs = [[at[token].logprob for at, token in zip(one.logprobs, one.token_ids, strict=True)] for one in answers]
        return torch.tensor([list(one.token_ids) for one in answers]), torch.tensor(logs)


def tell(tap: tensortap.Session, step: int, prompts: Tensor, ids: Tensor, logs: Tensor) -> None:
    """The tap, of the tokens of a step."""
    for number, prompt in enumerate(prompts):
        tap.tokens(prompt=prompt, sample=number, positions=PROMPT, ids=ids[number], logprobs=logs[number], global_step=step)


def train(model: LlamaForCausalLM, optimizer: torch.optim.Optimizer, prompts: Tensor, ids: Tensor) -> Tensor:
    """One update, for words of even numbers; the log-probabilities before it."""
    logits = model(input_ids=torch.cat((prompts, ids), 1), use_cache=False).logits
    logs = log_softmax(logits[:, PROMPT - 1 : -1], -1).gather(2, ids[..., None])[..., 0]
    optimizer.zero_grad()
    (-(((ids % 2 == 0).float() - 0.5) * logs).mean()).backward()
    optimizer.step()
    return logs.detach()


def loop(rollout: Rollout, fault: str) -> None:
    """Sample, and train on it, as often as there are steps."""
    model = policy()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    settings: dict[str, Any] = {"level": "L0", "scope": ["*norm"]}
    with tensortap.tap(rollout.model(), run=f"rollout-{fault}", **settings) as acts, tensortap.tap(model, run=f"trainer-{fault}", **settings) as learns:
        for step in range(STEPS):
            if not (fault == "unsynchronised" and step == UNSYNCHRONISED):
                rollout.update(model)
            acts.weights(step)
            learns.weights(step)
            prompts = torch.randint(WORDS, (PROMPTS, PROMPT), generator=torch.Generator().manual_seed(step))
            acts.start()
            ids, logs = rollout.sample(prompts, COOL if fault == "temperature" else 1.0)
            tell(acts, step, prompts, ids, logs)
            acts.step()
            learns.start()
            tell(learns, step, prompts, ids, train(model, optimizer, prompts, ids))
            learns.step()


if __name__ == "__main__":
    torch.set_num_threads(1)
    served = Rollout(Path(sys.argv[1]))
    for name in sys.argv[2:]:
        loop(served, name)
