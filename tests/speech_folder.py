"""A small speech model's folder in onnxruntime-genai's layout for Whisper, and its tokens computed by NumPy."""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from example_module import example

MELS, SECONDS, WIDTH, HEADS, LAYERS, CONTEXT = 8, 30, 16, 2, 2, 128
SIZE, FRAMES = WIDTH // HEADS, SECONDS * 100
POSITIONS = FRAMES // 2
END = 2
RATE = 16_000
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]


class SpeechWeights:
    """Weights by name, the same for the folder and the reference."""

    def __init__(self, vocabulary: int) -> None:
        rng = np.random.default_rng(3)

        def made(*shape: int, by: float = 1.5) -> np.ndarray:
            return (rng.standard_normal(shape) * by / shape[-2] ** 0.5).astype(np.float32)

        self.vocabulary = vocabulary
        self.arrays = {"conv": (rng.standard_normal((WIDTH, MELS, 3)) * 0.4).astype(np.float32)}
        self.arrays["tokens"] = rng.standard_normal((vocabulary, WIDTH)).astype(np.float32)
        self.arrays["head"] = made(WIDTH, vocabulary, by=3.0)
        for layer in range(LAYERS):
            for name in ("self_q", "self_k", "self_v", "cross_q", "cross_k", "cross_v"):
                self.arrays[f"{name}_{layer}"] = made(WIDTH, WIDTH)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name].astype(np.float64)


def _heads(x: np.ndarray) -> np.ndarray:
    return x.reshape(x.shape[0], HEADS, SIZE).transpose(1, 0, 2)


def _mixed(query: np.ndarray, key: np.ndarray, value: np.ndarray, *, causal: bool) -> np.ndarray:
    q, k, v = map(_heads, (query, key, value))
    scores = q @ k.transpose(0, 2, 1) / SIZE**0.5
    if causal:
        scores = np.where(np.tri(len(query), dtype=bool), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ v).transpose(1, 0, 2).reshape(len(query), WIDTH)


def hidden(weights: SpeechWeights, features: np.ndarray) -> np.ndarray:
    """Run the encoder on {mels, frames} features."""
    padded = np.pad(features.astype(np.float64), ((0, 0), (1, 1)))
    return np.array([np.tanh(np.einsum("wmk,mk->w", weights["conv"], padded[:, 2 * index : 2 * index + 3]))
                     for index in range(POSITIONS)])  # fmt: skip


def expected_tokens(weights: SpeechWeights, features: np.ndarray, prompt: Sequence[int], most: int) -> list[int]:
    """Return the tokens of a greedy search that computes every position again, in float64."""
    heard, sequence = hidden(weights, features), list(prompt)
    while len(sequence) < most:
        x = weights["tokens"][sequence]
        for layer in range(LAYERS):
            own = [x @ weights[f"self_{kind}_{layer}"] for kind in "qkv"]
            x = np.tanh(x + _mixed(own[0], own[1], own[2], causal=True))
            query = x @ weights[f"cross_q_{layer}"]
            key, value = (heard @ weights[f"cross_{kind}_{layer}"] for kind in "kv")
            x = np.tanh(x + _mixed(query, key, value, causal=False))
        token = int((x[-1] @ weights["head"]).argmax())
        if token == END:
            break
        sequence.append(token)
    return sequence


def _saved(path: Path, weights: SpeechWeights, nodes: list[Any], given: list[Any], made: list[Any]) -> None:
    used = {name for node in nodes for name in node.input}
    initial = [numpy_helper.from_array(array, name) for name, array in weights.arrays.items() if name in used]
    initial.append(numpy_helper.from_array(np.array([0, POSITIONS, HEADS, SIZE]), "apart"))
    graph = helper.make_graph(nodes, path.stem, given, made, initial)
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=9), path)


def _value(name: str, shape: Sequence[Any], kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def _encoder(path: Path, weights: SpeechWeights) -> None:
    node = helper.make_node
    nodes = [
        node("Conv", ["audio_features", "conv"], ["c"], kernel_shape=[3], pads=[1, 1], strides=[2]),
        node("Tanh", ["c"], ["t"]),
        node("Transpose", ["t"], ["hidden_states"], perm=[0, 2, 1]),
    ]
    made = [_value("hidden_states", ["batch_size", POSITIONS, WIDTH])]
    for layer in range(LAYERS):
        for kind, letter in (("key", "k"), ("value", "v")):
            name = f"present_{kind}_cross_{layer}"
            nodes += [
                node("MatMul", ["hidden_states", f"cross_{letter}_{layer}"], [f"{name}/m"]),
                node("Reshape", [f"{name}/m", "apart"], [f"{name}/r"]),
                node("Transpose", [f"{name}/r"], [name], perm=[0, 2, 1, 3]),
            ]
            made.append(_value(name, ["batch_size", HEADS, POSITIONS, SIZE]))
    _saved(path, weights, nodes, [_value("audio_features", ["batch_size", MELS, FRAMES])], made)


def _decoder(path: Path, weights: SpeechWeights) -> None:
    node, own = helper.make_node, "com.microsoft"
    nodes = [node("Gather", ["tokens", "input_ids"], ["x"])]
    given = [_value("input_ids", ["batch_size", "sequence_length"], TensorProto.INT32)]
    made = [_value("logits", ["batch_size", "sequence_length", weights.vocabulary])]
    x = "x"
    for layer in range(LAYERS):
        name = {kind: f"l{layer}/{kind}" for kind in ("q", "k", "v", "m", "a", "t", "cq", "cm", "ca", "ct")}
        past = [f"past_{kind}_self_{layer}" for kind in ("key", "value")]
        present = [f"present_{kind}_self_{layer}" for kind in ("key", "value")]
        cross = [f"past_{kind}_cross_{layer}" for kind in ("key", "value")]
        nodes += [node("MatMul", [x, f"self_{kind}_{layer}"], [name[kind]]) for kind in "qkv"]
        nodes += [
            node("MultiHeadAttention", [name["q"], name["k"], name["v"], "", "", "", *past], [name["m"], *present],
                 domain=own, num_heads=HEADS, unidirectional=1),
            node("Add", [x, name["m"]], [name["a"]]),
            node("Tanh", [name["a"]], [name["t"]]),
            node("MatMul", [name["t"], f"cross_q_{layer}"], [name["cq"]]),
            node("MultiHeadAttention", [name["cq"], *cross], [name["cm"]], domain=own, num_heads=HEADS),
            node("Add", [name["t"], name["cm"]], [name["ca"]]),
            node("Tanh", [name["ca"]], [name["ct"]]),
        ]  # fmt: skip
        x = name["ct"]
        given += [_value(one, ["batch_size", HEADS, "past_sequence_length", SIZE]) for one in past]
        given += [_value(one, ["batch_size", HEADS, POSITIONS, SIZE]) for one in cross]
        made += [_value(one, ["batch_size", HEADS, "total_sequence_length", SIZE]) for one in present]
    nodes.append(node("MatMul", [x, "head"], ["logits"]))
    _saved(path, weights, nodes, given, made)


def wav(sound: np.ndarray, *, width: int = 2, rate: int = RATE) -> bytes:
    """Return {samples, channels} from -1 to 1 as a WAV file."""
    largest = 2 ** (8 * width - 1) - 1
    numbers = np.round(sound * largest) + (128 if width == 1 else 0)
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(sound.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(numbers.astype({1: np.uint8, 2: "<i2", 4: "<i4"}[width]).tobytes())
    return data.getvalue()


def tone(seconds: float, channels: int = 1) -> np.ndarray:
    times = np.arange(int(seconds * RATE)) / RATE
    noise = np.random.default_rng(1).standard_normal((len(times), channels))
    return np.clip(0.5 * np.sin(2 * np.pi * 440 * times * (1 + times))[:, None] + 0.05 * noise, -1, 1)


def write_speech_folder(folder: Path) -> SpeechWeights:
    """Write an encoder, a decoder and their other files; return the weights of both."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = example("chat").write_tokenizer(folder)
    weights = SpeechWeights(vocabulary)
    _encoder(folder / "encoder.onnx", weights)
    _decoder(folder / "decoder.onnx", weights)
    sizes = {"head_size": SIZE, "hidden_size": WIDTH, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
             "num_key_value_heads": HEADS}  # fmt: skip
    decoder = {
        "filename": "decoder.onnx", **sizes,
        "inputs": {
            "input_ids": "input_ids",
            "past_key_names": "past_key_self_%d", "past_value_names": "past_value_self_%d",
            "cross_past_key_names": "past_key_cross_%d", "cross_past_value_names": "past_value_cross_%d",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present_key_self_%d", "present_value_names": "present_value_self_%d",
        },
    }  # fmt: skip
    encoder = {
        "filename": "encoder.onnx", **sizes,
        "inputs": {"audio_features": "audio_features"},
        "outputs": {
            "encoder_hidden_states": "hidden_states",
            "cross_present_key_names": "present_key_cross_%d", "cross_present_value_names": "present_value_cross_%d",
        },
    }  # fmt: skip
    model = {"bos_token_id": 1, "context_length": CONTEXT, "decoder": decoder, "encoder": encoder, "eos_token_id": END,
             "pad_token_id": 0, "type": "whisper", "vocab_size": vocabulary}  # fmt: skip
    search = {"max_length": CONTEXT, "past_present_share_buffer": False}
    (folder / "genai_config.json").write_text(json.dumps({"model": model, "search": search}), encoding="utf-8")
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)).tolist()
    operations = [
        {"name": "audio_decoder", "type": "AudioDecoder"},
        {"name": "STFT", "type": "STFTNorm",
         "attrs": {"n_fft": 400, "frame_length": 400, "hop_length": 160, "_comment": window}},
        {"name": "log_mel", "type": "LogMelSpectrum",
         "attrs": {"chunk_size": SECONDS, "hop_length": 160, "n_fft": 400, "n_mel": MELS}},
    ]  # fmt: skip
    sequence = [{"operation": one} for one in operations]
    settings = {"feature_extraction": {"sequence": sequence}}
    (folder / "audio_processor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return weights
