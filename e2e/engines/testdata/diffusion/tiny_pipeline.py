"""Write pipelines of diffusers with random weights that SGLang can serve: tiny_pipeline.py GOOD BAD

BAD is the same with one weight scaled of the network that takes noise away.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

SCALED, FACTOR = "mid_block.resnets.0.conv1.weight", 4
START, END = "<|startoftext|>", "<|endoftext|>"


def tokenizer():
    """One of single letters."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    words = {word: number for number, word in enumerate([*letters, *(f"{letter}</w>" for letter in letters), START, END])}
    folder = Path(tempfile.mkdtemp())
    (folder / "vocab.json").write_text(json.dumps(words))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer.from_pretrained(folder, bos_token=START, eos_token=END, unk_token=END, pad_token=END, model_max_length=16)


def pipeline():
    """Always the same weights."""
    torch.manual_seed(0)
    words = tokenizer()
    unet = UNet2DConditionModel(
        block_out_channels=(8, 16),
        layers_per_block=1,
        sample_size=8,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=2,
        norm_num_groups=2,
    )
    vae = AutoencoderKL(
        block_out_channels=(8, 16),
        in_channels=3,
        out_channels=3,
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
        latent_channels=4,
        norm_num_groups=2,
    )
    text = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(words),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=16,
            bos_token_id=len(words) - 2,
            eos_token_id=len(words) - 1,
            pad_token_id=len(words) - 1,
        )
    )
    scheduler = DDIMScheduler(clip_sample=False, set_alpha_to_one=False)
    return StableDiffusionPipeline(
        vae=vae, text_encoder=text, tokenizer=words, unet=unet, scheduler=scheduler, safety_checker=None, feature_extractor=None, requires_safety_checker=False
    )


good, bad = map(Path, sys.argv[1:])
made = pipeline()
made.save_pretrained(good)
with torch.no_grad():
    made.unet.get_parameter(SCALED).mul_(FACTOR)
made.save_pretrained(bad)
