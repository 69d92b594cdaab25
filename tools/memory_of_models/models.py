"""ONNX models at real sizes with random weights. scale: multiplies their widths and numbers of layers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from tools.memory_of_models.diffusion import unet, vae_decoder
from tools.memory_of_models.writer import CONTRIB, Made, ModelWriter, layers_of, to_multiple


def _encoder(folder: Path, name: str, layers: int, width: int, heads: int, rows: int, vocabulary: int = 0) -> Made:
    w = ModelWriter(folder, name)
    w.constant("heads", [0, 0, heads, -1])
    w.constant("joined", [0, 0, -1])
    w.constant("root", float((width // heads) ** 0.5), np.float32)
    if vocabulary:
        ids = w.input("ids", ["batch", "rows"], TensorProto.INT64)
        x = w.node("Gather", [w.floats("embedding", vocabulary, width, size=0.05), ids], "embedded")
        feeds = {"ids": np.random.default_rng(1).integers(0, vocabulary, (1, rows))}
    else:
        x = w.input("x", ["batch", "rows", width])
        feeds = {"x": np.random.default_rng(1).standard_normal((1, rows, width), np.float32)}
    for layer in range(layers):
        x = w.encoder_layer(x, width, heads, f"layer{layer}")
    w.output(w.normalized(x, width, "y"), ["batch", "rows", width])
    return w.finish(feeds)


def bert_large(folder: Path, scale: float) -> Made:
    return _encoder(
        folder, "bert", layers_of(24, scale), to_multiple(1024 * scale, 64), max(1, round(16 * scale)), 128, 30522
    )


def vit_large(folder: Path, scale: float) -> Made:
    """Write the encoder, for the 197 tokens of an image."""
    return _encoder(folder, "vit", layers_of(24, scale), to_multiple(1024 * scale, 64), max(1, round(16 * scale)), 197)


def whisper_small(folder: Path, scale: float) -> Made:
    """Write the encoder, for 30 seconds: two convolutions over 3,000 frames of 80 bands, then 12 layers."""
    w = ModelWriter(folder, "whisper")
    width, heads = to_multiple(768 * scale, 64), max(1, round(12 * scale))
    w.constant("heads", [0, 0, heads, -1])
    w.constant("joined", [0, 0, -1])
    w.constant("root", float((width // heads) ** 0.5), np.float32)
    x, bands = w.input("x", ["batch", 80, 3000]), 80
    for index, stride in enumerate((1, 2)):
        weights = [w.floats(f"conv{index}.w", width, bands, 3), w.floats(f"conv{index}.b", width, size=0.01)]
        convolved = w.node("Conv", [x, *weights], f"conv{index}", pads=[1, 1], strides=[stride])
        x, bands = w.node("Gelu", [convolved], f"conv{index}.h"), width
    x = w.node("Transpose", [x], "frames", perm=[0, 2, 1])
    for layer in range(layers_of(12, scale)):
        x = w.encoder_layer(x, width, heads, f"layer{layer}")
    w.output(w.normalized(x, width, "y"), ["batch", "rows", width])
    return w.finish({"x": np.random.default_rng(1).standard_normal((1, 80, 3000), np.float32)})


class LlamaShape(NamedTuple):
    """Sizes of a Llama. size: size of a head. wide: width of the feed-forward layer."""

    layers: int
    heads: int
    kv_heads: int
    size: int
    vocabulary: int

    @property
    def width(self) -> int:
        return self.heads * self.size

    @property
    def wide(self) -> int:
        return 4 * self.width


def llama_shape(scale: float) -> LlamaShape:
    """Return the sizes of a Llama with 1.1 billion parameters at scale 1."""
    return LlamaShape(
        layers_of(16, scale), max(4, round(32 * scale)), max(1, round(8 * scale)), 64, to_multiple(32000 * scale, 64)
    )


def llama(folder: Path, shape: LlamaShape, *, zeros: bool) -> Made:
    """Write a 4-bit Llama as onnxruntime-genai's builder does, with genai_config.json. The inputs are one step after a
    past of 128."""
    w = ModelWriter(folder, "llama")
    past, size, width = 128, shape.size, shape.width
    ids = w.input("input_ids", ["batch", "rows"], TensorProto.INT64)
    mask = w.input("attention_mask", ["batch", "all"], TensorProto.INT64)
    feeds: dict[str, np.ndarray] = {"input_ids": np.array([[1]]), "attention_mask": np.ones((1, past + 1), np.int64)}
    w.constant("one", [1])
    w.constant("axis", 1)
    sums = w.node("ReduceSum", [mask, "one"], "counted", keepdims=0)
    lengths = w.node("Cast", [w.node("Sub", [sums, "one"], "lengths64")], "lengths", to=TensorProto.INT32)
    longest = w.node("Gather", [w.node("Shape", [mask], "mask_shape"), "axis"], "total64", axis=0)
    total = w.node("Cast", [longest], "total", to=TensorProto.INT32)
    angles = np.outer(np.arange(2048), 1e4 ** -(np.arange(size // 2) / (size // 2)))
    for name, table in (("cos", np.cos(angles)), ("sin", np.sin(angles))):
        w.weight(name, table.astype(np.float32))
    x = w.node("Gather", [w.floats("embedding", shape.vocabulary, width, size=1), ids], "embedded")
    n = w.node("SimplifiedLayerNormalization", [x, w.floats("n.g", width, size=1)], "n", axis=-1, epsilon=1e-5)
    for index in range(shape.layers):
        y = f"layer{index}"
        parts = [
            w.quantized(n, width, own * size, f"{y}.{part}", zeros=zeros)
            for part, own in (("q", shape.heads), ("k", shape.kv_heads), ("v", shape.kv_heads))
        ]
        caches, presents = [], []
        for part in ("key", "value"):
            caches.append(w.input(f"past_key_values.{index}.{part}", ["batch", shape.kv_heads, "past", size]))
            cache = np.random.default_rng(index).standard_normal((1, shape.kv_heads, past, size), np.float32)
            feeds[caches[-1]] = cache
            presents.append(f"present.{index}.{part}")
            w.output(presents[-1], ["batch", shape.kv_heads, "all", size])
        attended = w.node(
            "GroupQueryAttention", [*parts, *caches, lengths, total, "cos", "sin"], f"{y}.a", *presents,
            domain=CONTRIB, num_heads=shape.heads, kv_num_heads=shape.kv_heads, do_rotary=1,
        )  # fmt: skip
        x, n = w.added(x, w.quantized(attended, width, width, f"{y}.o", zeros=zeros), width)
        gate = w.quantized(n, width, shape.wide, f"{y}.gate", zeros=zeros)
        silu = w.node("Mul", [gate, w.node("Sigmoid", [gate], f"{y}.s")], f"{y}.silu")
        hidden = w.node("Mul", [silu, w.quantized(n, width, shape.wide, f"{y}.up", zeros=zeros)], f"{y}.h")
        x, n = w.added(x, w.quantized(hidden, shape.wide, width, f"{y}.d", zeros=zeros), width)
    w.output(w.quantized(n, width, shape.vocabulary, "logits", zeros=zeros), ["batch", "rows", shape.vocabulary])
    (folder / "genai_config.json").write_text(json.dumps(_genai_config(shape)), encoding="utf-8")
    return w.finish(feeds)


def _genai_config(shape: LlamaShape) -> dict[str, Any]:
    inputs = {"input_ids": "input_ids", "attention_mask": "attention_mask"}
    inputs |= {f"past_{part}_names": f"past_key_values.%d.{part}" for part in ("key", "value")}
    decoder = {
        "session_options": {"provider_options": []},
        "filename": "llama.onnx",
        "head_size": shape.size,
        "hidden_size": shape.width,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.kv_heads,
        "inputs": inputs,
        "outputs": {"logits": "logits", **{f"present_{part}_names": f"present.%d.{part}" for part in ("key", "value")}},
    }
    model = {"type": "llama", "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "context_length": 2048}
    return {
        "model": {**model, "vocab_size": shape.vocabulary, "decoder": decoder},
        "search": {"max_length": 2048, "do_sample": False, "past_present_share_buffer": True},
    }


MODELS: dict[str, Callable[[Path, float], Made]] = {
    "llama": lambda folder, scale: llama(folder, llama_shape(scale), zeros=False),
    "llama-zeros": lambda folder, scale: llama(folder, llama_shape(scale), zeros=True),
    "bert-large": bert_large,
    "vit-large": vit_large,
    "whisper-small": whisper_small,
    "unet": unet,
    "vae-decoder": vae_decoder,
}

#: Models that also run as a discrete GPU by default. For the others, a CPU driver takes minutes.
AS_DISCRETE = frozenset({"llama", "llama-zeros"})
