"""Build folders of small random language models with onnxruntime-genai's model builder."""

from __future__ import annotations

import contextlib
import io
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PRECISIONS = ("int4", "fp16", "fp32")
PROVIDERS = ("cpu", "dml", "webgpu", "cuda")
VOCABULARY = 384
_COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 128, "rope_theta": 500000.0}  # fmt: skip
_YARN = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "rope_theta": 150000.0,
         "original_max_position_embeddings": 4096}  # fmt: skip
_LONG = {"rope_type": "longrope", "type": "longrope", "short_factor": [1.0] * 8, "long_factor": [1.5] * 8,
         "rope_theta": 10000.0, "original_max_position_embeddings": 128}  # fmt: skip
_LONG_EXPERTS = {**_LONG, "short_mscale": 1.0, "long_mscale": 1.0, "short_factor": [1.0] * 16,
                 "long_factor": [1.5] * 16}  # fmt: skip
_HEADS_OF_32 = {"head_dim": 32}
_SIDES = ("encoder", "decoder")
#: The family with audio features as input: {1, MELS, FRAMES}.
WHISPER = "whisper"
MELS, FRAMES = 80, 3000
_GEMMA2 = {**_HEADS_OF_32, "query_pre_attn_scalar": 32, "sliding_window": 8}

#: Family -> transformers' configuration class, and the settings that differ from _COMMON.
FAMILIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "llama": ("LlamaConfig", {}),
    "llama3": ("LlamaConfig", {"rope_parameters": _LLAMA3}),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", _HEADS_OF_32),
    "mistral": ("MistralConfig", {"sliding_window": 8}),
    "gemma": ("GemmaConfig", {**_HEADS_OF_32, "hidden_activation": "gelu_pytorch_tanh"}),
    "gemma2": ("Gemma2Config", _GEMMA2),
    "gemma3": ("Gemma3TextConfig", _GEMMA2),
    "phi3": ("Phi3Config", {"original_max_position_embeddings": 512}),
    "phi3long": ("Phi3Config", {"original_max_position_embeddings": 128, "rope_parameters": _LONG}),
    "phi4": ("Phi3Config", {"original_max_position_embeddings": 512, "num_key_value_heads": 1}),
    "phimoe": (
        "PhimoeConfig",
        {
            "num_local_experts": 4,
            "original_max_position_embeddings": 128,
            "hidden_size": 128,
            "rope_parameters": _LONG_EXPERTS,
        },
    ),
    "gptoss": (
        "GptOssConfig",
        {
            "head_dim": 64,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "sliding_window": 8,
            "hidden_size": 128,
            "max_position_embeddings": 16384,
            "rope_parameters": _YARN,
        },
    ),
    "granite": ("GraniteConfig", {"embedding_multiplier": 2.0, "logits_scaling": 3.0, "residual_multiplier": 0.5}),
    "olmo": ("OlmoConfig", {}),
    "smollm3": ("SmolLM3Config", {}),
    "nemotron": ("NemotronConfig", {"hidden_size": 128, "norm_eps": 1e-5, "partial_rotary_factor": 0.5}),
    "ernie": ("Ernie4_5Config", _HEADS_OF_32),
    "phi": ("PhiConfig", {"hidden_size": 128, "partial_rotary_factor": 0.5}),
    WHISPER: (
        "WhisperConfig",
        {
            "d_model": 64,
            "decoder_start_token_id": 1,
            "num_key_value_heads": 4,
            **{f"{side}_layers": 2 for side in _SIDES},
            **{f"{side}_attention_heads": 4 for side in _SIDES},
            **{f"{side}_ffn_dim": 128 for side in _SIDES},
        },
    ),
}
_LOCAL_THETA = 1e4  # RoPE theta of gemma3's sliding window layers
#: Entries of config.json that transformers renamed, with the builder's names.
_AS_BUILT: Mapping[str, Mapping[str, Any]] = {
    "phimoe": {"architectures": ["PhiMoEForCausalLM"]},
    "gemma3": {
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": _LOCAL_THETA},
            "rope_type": "default",
            "rope_theta": 1e6,
        }
    },
}
#: Attributes of configurations that the builder reads and current transformers lacks.
_READ_BY_BUILDER: Mapping[str, Mapping[str, Any]] = {"Gemma3TextConfig": {"rope_local_base_freq": _LOCAL_THETA}}
_TEXTS = ["The quick brown fox jumps over the lazy dog.", "Hello world! How are you today?"]


def checkpoint(family: str, folder: Path) -> None:
    """Save a family's model with random weights and a tokenizer in transformers' format."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    name, more = FAMILIES[family]
    configuration = getattr(transformers, name)(**{**_COMMON, **more})
    torch.manual_seed(0)
    model = auto_class(family).from_config(configuration).eval()
    with torch.no_grad():  # spreads the logits, so that rounding seldom changes the likeliest token
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 1.5 / parameter.shape[-1] ** 0.5)
    model.save_pretrained(folder)
    if family == "gptoss":
        _add_blocks(folder)
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(_TEXTS, trainer)
    named = {"pad_token": special[0], "bos_token": special[1], "eos_token": special[2]}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named).save_pretrained(folder)
    path = folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, **_AS_BUILT.get(family, {})}), encoding="utf-8")


def _add_blocks(folder: Path) -> None:
    """Add the 4-bit blocks of each expert's weights, as in the published gpt-oss, which int4 folders are built from.

    blocks: {experts, outputs, inputs / 32, 16}, two numbers a byte; scales: powers of 2 with a bias of 127.
    """
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name in [name for name in tensors if name.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, inputs, outputs = tensors[name].shape
        shape = (experts, outputs, inputs // 32)
        tensors[f"{name}_blocks"] = torch.randint(0, 256, (*shape, 16), dtype=torch.uint8)
        tensors[f"{name}_scales"] = torch.randint(121, 124, shape, dtype=torch.uint8)
    save_file(tensors, path, metadata={"format": "pt"})


def auto_class(family: str) -> Any:
    """Return transformers' class that loads a family."""
    import transformers

    return transformers.AutoModelForSpeechSeq2Seq if family == WHISPER else transformers.AutoModelForCausalLM


def build(source: Path, folder: Path, precision: str, provider: str, cache: Path) -> None:
    """Build a checkpoint's folder with the model builder. Raises the builder's errors."""
    import transformers
    from onnxruntime_genai.models.builder import create_model, parse_extra_options

    place = ("", str(source), str(folder), precision, provider, str(cache))
    for name, attributes in _READ_BY_BUILDER.items():
        for attribute, value in attributes.items():
            setattr(getattr(transformers, name), attribute, value)
    before = logging.root.manager.disable
    logging.disable()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            options = parse_extra_options(*place, [])
            create_model(*place, **options)
    finally:
        logging.disable(before)
