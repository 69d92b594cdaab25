"""Write a GGUF file with a language model's shape and random Q4_0 weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tools.memory_of_models.models import LlamaShape

#: Weights per Q4_0 block, which has one FLOAT16 scale.
_BLOCK = 32


def write_gguf(path: Path, shape: LlamaShape) -> None:
    """Write the model. Raises ImportError without the package gguf."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.wide)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.size)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_tokenizer_model("llama")
    special, byte, normal = gguf.TokenType.CONTROL, gguf.TokenType.BYTE, gguf.TokenType.NORMAL
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{index:02X}>" for index in range(256))]
    types = [gguf.TokenType.UNKNOWN, special, special, *[byte] * 256]
    rest = shape.vocabulary - len(tokens)
    writer.add_token_list([*tokens, *(f"w{index}" for index in range(rest))])
    writer.add_token_scores([0.0] * shape.vocabulary)
    writer.add_token_types([*types, *[normal] * rest])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    rng = np.random.default_rng(0)

    def quantized(name: str, rows: int, columns: int) -> None:
        scales = (rng.random((rows, columns // _BLOCK, 1)) * 0.4 * columns**-0.5).astype(np.float16).view(np.uint8)
        bits = rng.integers(0, 256, (rows, columns // _BLOCK, _BLOCK // 2), np.uint8)
        blocks = np.concatenate([scales, bits], 2).reshape(rows, -1)
        writer.add_tensor(f"{name}.weight", blocks, raw_dtype=gguf.GGMLQuantizationType.Q4_0)

    def ones(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(shape.width, np.float32))

    embedding = rng.standard_normal((shape.vocabulary, shape.width), np.float32)
    writer.add_tensor("token_embd.weight", embedding)
    for index in range(shape.layers):
        layer = f"blk.{index}"
        ones(f"{layer}.attn_norm")
        ones(f"{layer}.ffn_norm")
        quantized(f"{layer}.attn_q", shape.width, shape.width)
        for part in "kv":
            quantized(f"{layer}.attn_{part}", shape.kv_heads * shape.size, shape.width)
        quantized(f"{layer}.attn_output", shape.width, shape.width)
        for part in ("gate", "up"):
            quantized(f"{layer}.ffn_{part}", shape.wide, shape.width)
        quantized(f"{layer}.ffn_down", shape.width, shape.wide)
    ones("output_norm")
    quantized("output", shape.vocabulary, shape.width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
