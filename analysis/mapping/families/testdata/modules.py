"""Writes the modules of a small model of each family by Transformers, one line a module, with its class: modules.py FOLDER"""
import pathlib
import sys

SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=128)
FAMILIES = {
    "llama": ("LlamaConfig", {}),
    "mistral": ("MistralConfig", {}),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", {}),
    "qwen3-moe": ("Qwen3MoeConfig", dict(num_experts=4, moe_intermediate_size=32, num_experts_per_tok=2)),
    "mixtral": ("MixtralConfig", dict(num_local_experts=4)),
    "gemma": ("GemmaConfig", dict(head_dim=16)),
    "gemma2": ("Gemma2Config", dict(head_dim=16)),
    "deepseek-v3": ("DeepseekV3Config", dict(first_k_dense_replace=0, n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2, q_lora_rank=32, kv_lora_rank=16,
                                             qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, moe_intermediate_size=32)),
    "gpt2": ("GPT2Config", dict(n_embd=64, n_layer=1, n_head=4, vocab_size=128)),
}


def transformers(folder):
    import torch
    import transformers as tf

    for family, (config, more) in FAMILIES.items():
        sizes = {} if family == "gpt2" else SIZES
        with torch.device("meta"):
            model = tf.AutoModelForCausalLM.from_config(getattr(tf, config)(**{**sizes, **more}))
        lines = [f"{name} {type(module).__name__}" for name, module in model.named_modules() if name]
        parameters = [f"{name.rpartition('.')[0]} parameter.{name.rpartition('.')[2]}" for name, _ in model.named_parameters() if ".experts." in name]
        (folder / f"{family}.txt").write_text("\n".join(lines + parameters) + "\n")


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    transformers(target)
