"""Write a model of random weights of a family: tiny_family.py FAMILY FOLDER"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

WORDS = 512
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
}
FAMILIES = {
    "qwen3": {},
    "qwen3_moe": {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "norm_topk_prob": True},
}

family, folder = sys.argv[1], Path(sys.argv[2])
torch.manual_seed(0)
model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **(SIZES | FAMILIES[family])), dtype=torch.bfloat16)
with torch.no_grad():
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.normal_(0, 0.1)
model.save_pretrained(folder)
words = Tokenizer(models.WordLevel({str(number): number for number in range(WORDS)}, unk_token="0"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=words, bos_token="1", eos_token="2", unk_token="0").save_pretrained(folder)
