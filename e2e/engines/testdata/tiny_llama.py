"""Write a Llama of random weights that every engine can serve: tiny_llama.py GOOD BAD NAN BROKEN TWICE LAYERS HIDDEN

BAD is the same with one weight scaled, NAN the same with one word whose embedding is NaN, BROKEN the same with one element of
a weight that is NaN, TWICE the same with the first half of two projections in the place of the second, which has the second of two
tensor-parallel ranks load the shard of the first.

What is scaled or NaN lies in the rows of an up projection that the second of two tensor-parallel ranks holds, so that its output
tells the rank even where an engine packs its weights away.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

LAYERS, HIDDEN = map(int, sys.argv[6:])
WORDS, INNER, HEAD = 512, 2 * HIDDEN, 32
HEADS = HIDDEN // HEAD
KV_HEADS = HEADS // 2
SCALED, ROWS, FACTOR = "model.layers.1.mlp.up_proj.weight", slice(INNER - 56, INNER - 24), 4
NOT_FINITE = 456  # has no digit of the special words, which tokenizers cut out of text
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": WORDS,
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def matrices():
    """The names and sizes of all matrices."""
    yield "model.embed_tokens", WORDS, HIDDEN
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        yield f"{at}.self_attn.q_proj", HEADS * HEAD, HIDDEN
        yield f"{at}.self_attn.k_proj", KV_HEADS * HEAD, HIDDEN
        yield f"{at}.self_attn.v_proj", KV_HEADS * HEAD, HIDDEN
        yield f"{at}.self_attn.o_proj", HIDDEN, HEADS * HEAD
        yield f"{at}.mlp.gate_proj", INNER, HIDDEN
        yield f"{at}.mlp.up_proj", INNER, HIDDEN
        yield f"{at}.mlp.down_proj", HIDDEN, INNER
    yield "lm_head", WORDS, HIDDEN


def weights():
    """All weights, always the same."""
    torch.manual_seed(0)
    found = {f"{name}.weight": torch.randn(rows, columns).mul(0.1).bfloat16() for name, rows, columns in matrices()}
    norms = ["model.norm", *(f"model.layers.{layer}.{norm}" for layer in range(LAYERS) for norm in ("input_layernorm", "post_attention_layernorm"))]
    return found | {f"{norm}.weight": torch.ones(HIDDEN).bfloat16() for norm in norms}


def write(folder, found):
    """Write a checkpoint. Its words are the numbers of its tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    words = Tokenizer(models.WordLevel({str(number): number for number in range(WORDS)}, unk_token="0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=words, bos_token="1", eos_token="2", unk_token="0").save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    save_file(found, folder / "model.safetensors", metadata={"format": "pt"})


good, bad, nan, broken, twice = map(Path, sys.argv[1:6])
write(good, weights())
scaled = weights()
scaled[SCALED][ROWS] *= FACTOR
write(bad, scaled)
poisoned = weights()
poisoned["model.embed_tokens.weight"][NOT_FINITE] = float("nan")
poisoned["lm_head.weight"][NOT_FINITE] = 0  # nobody makes that word
write(nan, poisoned)
one = weights()
one[SCALED][ROWS.start, 0] = float("nan")
write(broken, one)
again = weights()
for projection in ("gate_proj", "up_proj"):
    rows = again[f"model.layers.1.mlp.{projection}.weight"]
    rows[INNER // 2 :] = rows[: INNER // 2].clone()
write(twice, again)
