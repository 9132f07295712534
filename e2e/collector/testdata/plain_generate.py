"""Four tokens of a tiny Llama, by the library that its users use, without a word about a collector."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 64}
model = LlamaForCausalLM(LlamaConfig(**sizes)).eval()
print(model.generate(torch.arange(5).unsqueeze(0), max_new_tokens=4, do_sample=False).tolist())
