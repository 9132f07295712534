"""Generate four tokens by Transformers after each prompt, with faults of its own where they are named: generate.py MODEL [float32 | FIRST:END | FAULT]...

The tokens of a prompt are numbers that follow each other; those from 10 to 41, unless any is given. Without float32 it computes in bfloat16.
"""

import sys

import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM


def scaled_rows(model):
    """The last rows of an up projection, or of those of all experts, are four times what they should be."""
    mlp = model.model.layers[1].mlp
    rows = mlp.experts.gate_up_proj.transpose(0, 1) if hasattr(mlp, "experts") else mlp.up_proj.weight
    rows[-len(rows) // 8 :] *= 4


def swapped(model):
    """A conversion took k for v."""
    attention = model.model.layers[1].self_attn
    k, v = attention.k_proj.weight, attention.v_proj.weight
    attention.k_proj.weight, attention.v_proj.weight = v, k


def rope_base(model):
    """The rotation is of another base."""
    inverse = model.model.rotary_emb.inv_freq
    inverse.copy_(500000.0 ** (-torch.arange(len(inverse), dtype=torch.float32) / len(inverse)))


def norm_epsilon(model):
    """The norms of one layer have another epsilon."""
    model.model.layers[1].input_layernorm.variance_epsilon = 1.0


def tied(model):
    """The embedding is the head, too."""
    model.lm_head.weight = model.model.embed_tokens.weight


def adapter(model):
    """An adapter of rank 4 is merged into one layer."""
    torch.manual_seed(1)
    weight = model.model.layers[1].self_attn.o_proj.weight
    weight += (torch.randn(weight.shape[0], 4) @ torch.randn(4, weight.shape[1])).mul(0.02).to(weight.dtype)


def updated(model):
    """An update has changed one layer."""
    torch.manual_seed(2)
    for weight in model.model.layers[1].parameters():
        weight += torch.randn(weight.shape).mul(0.02).to(weight.dtype)


def router_bias(model):
    """The router of one layer has a bias, which the engine leaves out."""
    gate = model.model.layers[1].mlp.gate
    torch.manual_seed(3)
    bias = torch.randn(gate.num_experts).to(gate.weight.dtype)

    def biased(hidden):
        logits = functional.linear(hidden.reshape(-1, gate.hidden_dim), gate.weight, bias)
        shares, chosen = logits.softmax(-1, dtype=torch.float32).topk(gate.top_k)
        return logits, (shares / shares.sum(-1, keepdim=True)).to(logits.dtype), chosen

    gate.forward = biased


FAULTS = {one.__name__: one for one in (scaled_rows, swapped, rope_base, norm_epsilon, tied, adapter, updated, router_bias)}

torch.set_num_threads(1)
path, *words = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32 if "float32" in words else torch.bfloat16).eval()
prompts = [word for word in words if ":" in word] or ["10:42"]
with torch.inference_mode():
    for fault in (word for word in words if word != "float32" and word not in prompts):
        FAULTS[fault](model)
    for first, end in (map(int, prompt.split(":")) for prompt in prompts):
        prompt = torch.arange(first, end)[None]
        print(model.generate(prompt, max_new_tokens=4, do_sample=False, eos_token_id=None)[0, -4:].tolist())
