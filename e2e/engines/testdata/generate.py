"""Generate four tokens by Transformers after a prompt of 32: generate.py MODEL"""

import sys

import torch
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.bfloat16).eval()
prompt = torch.tensor([list(range(10, 42))])
with torch.inference_mode():
    print(model.generate(prompt, max_new_tokens=4, do_sample=False, eos_token_id=None)[0, -4:].tolist())
