"""ONNX models of random weights, written with external data a tensor at a time. scale: of their widths."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

_PAGE = 4096
_CONTRIB = "com.microsoft"


class Made(NamedTuple):
    """A model's file, what it is run on, and the bytes of its weights."""

    path: Path
    feeds: Mapping[str, np.ndarray]
    bytes: int


class _Writer:
    """A graph whose weights go straight to a file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.onnx"
        self._data = (folder / f"{name}.data").open("wb")
        self._tensors: list[Any] = []
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._rng = np.random.default_rng(0)

    def weight(self, name: str, array: np.ndarray, data_type: int | None = None) -> str:
        self._data.write(bytes(-self._data.tell() % _PAGE))
        tensor = TensorProto(name=name, dims=array.shape, data_location=TensorProto.EXTERNAL)
        tensor.data_type = data_type or helper.np_dtype_to_tensor_dtype(array.dtype)
        places = {"location": Path(self._data.name).name, "offset": self._data.tell(), "length": array.nbytes}
        for key, value in places.items():
            tensor.external_data.add(key=key, value=str(value))
        self._data.write(array.tobytes())
        self._tensors.append(tensor)
        return name

    def floats(self, name: str, *shape: int, size: float | None = None) -> str:
        """Normal numbers, of a standard deviation that keeps the size of what they multiply."""
        size = size or float(np.prod(shape[1:]) or 1) ** -0.5
        return self.weight(name, self._rng.standard_normal(shape, np.float32) * np.float32(size))

    def constant(self, name: str, value: Any, dtype: Any = np.int64) -> str:
        self._tensors.append(onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, op: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(op, inputs, list(outputs), **attributes))
        return outputs[0]

    def input(self, name: str, shape: list[Any], dtype: int = TensorProto.FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name: str, shape: list[Any]) -> None:
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    # Layers

    def linear(self, x: str, rows: int, columns: int, y: str) -> str:
        weight = self.floats(f"{y}.w", columns, rows)
        turned = self.node("Transpose", [weight], f"{y}.wt", perm=[1, 0])
        product = self.node("MatMul", [x, turned], f"{y}.p")
        return self.node("Add", [product, self.floats(f"{y}.b", columns, size=0.01)], y)

    def quantized(self, x: str, rows: int, columns: int, y: str, *, zeros: bool, block: int = 32) -> str:
        """MatMulNBits of 4 bits."""
        blocks = rows // block
        packed = self._rng.integers(0, 256, (columns, blocks, block // 2), np.uint8)
        scales = self._rng.random(columns * blocks, np.float32) * np.float32(0.4 * rows**-0.5)
        inputs = [x, self.weight(f"{y}.w", packed), self.weight(f"{y}.s", scales)]
        if zeros:
            inputs.append(self.weight(f"{y}.z", np.full(columns * blocks // 2, 0x88, np.uint8)))
        return self.node("MatMulNBits", inputs, y, domain=_CONTRIB, K=rows, N=columns, bits=4, block_size=block)

    def normalized(self, x: str, width: int, y: str) -> str:
        scale, bias = self.weight(f"{y}.g", np.ones(width, np.float32)), self.floats(f"{y}.b", width, size=0.01)
        return self.node("LayerNormalization", [x, scale, bias], y, axis=-1)

    def encoder_layer(self, x: str, width: int, heads: int, y: str) -> str:
        """Attention and two linear layers, normalized before each. The constants "heads" and "joined" are shapes."""
        n = self.normalized(x, width, f"{y}.n")
        parts = {}
        for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            split = self.node("Reshape", [self.linear(n, width, width, f"{y}.{part}"), "heads"], f"{y}.{part}h")
            parts[part] = self.node("Transpose", [split], f"{y}.{part}t", perm=order)
        scores = self.node("Div", [self.node("MatMul", [parts["q"], parts["k"]], f"{y}.qk"), "root"], f"{y}.scores")
        weights = self.node("Softmax", [scores], f"{y}.weights", axis=-1)
        context = self.node(
            "Transpose", [self.node("MatMul", [weights, parts["v"]], f"{y}.c")], f"{y}.ct", perm=[0, 2, 1, 3]
        )
        attended = self.linear(self.node("Reshape", [context, "joined"], f"{y}.cj"), width, width, f"{y}.o")
        x = self.node("Add", [x, attended], f"{y}.xa")
        hidden = self.node(
            "Gelu", [self.linear(self.normalized(x, width, f"{y}.m"), width, 4 * width, f"{y}.u")], f"{y}.h"
        )
        return self.node("Add", [x, self.linear(hidden, 4 * width, width, f"{y}.d")], f"{y}.x")

    def added(self, x: str, more: str, width: int) -> tuple[str, str]:
        """x + more, and that normalized."""
        inputs = [x, more, self.floats(f"{more}.g", width, size=1)]
        n = self.node("SkipSimplifiedLayerNormalization", inputs, f"{more}.n", "", "", f"{more}.x", domain=_CONTRIB,
                      epsilon=1e-5)  # fmt: skip
        return f"{more}.x", n

    def residual(self, x: str, inputs: int, outputs: int, y: str) -> str:
        """Two convolutions of 3 x 3, each behind a group normalization and SiLU."""
        h = x
        for at, (a, b) in enumerate(((inputs, outputs), (outputs, outputs))):
            name = f"{y}.{at}"
            scale = self.weight(f"{name}.g", np.ones(a, np.float32))
            bias = self.floats(f"{name}.gb", a, size=0.01)
            n = self.node("GroupNormalization", [h, scale, bias], f"{name}.n", num_groups=min(32, a // 2))
            h = self.node("Mul", [n, self.node("Sigmoid", [n], f"{name}.s")], f"{name}.a")
            h = self.node("Conv", [h, self.floats(f"{name}.w", b, a, 3, 3), self.floats(f"{name}.b", b, size=0.01)],
                          f"{name}.c", pads=[1] * 4)  # fmt: skip
        if inputs != outputs:
            x = self.node("Conv", [x, self.floats(f"{y}.skip", outputs, inputs, 1, 1)], f"{y}.skipped")
        return self.node("Add", [x, h], y)

    def finish(self, feeds: Mapping[str, np.ndarray]) -> Made:
        size = self._data.tell()
        self._data.close()
        graph = helper.make_graph(self._nodes, self.path.stem, self._inputs, self._outputs, self._tensors)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(_CONTRIB, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), self.path)
        return Made(self.path, feeds, size)


def _to(number: float, multiple: int) -> int:
    return max(multiple, round(number / multiple) * multiple)


def _encoder(folder: Path, name: str, layers: int, width: int, heads: int, rows: int, vocabulary: int = 0) -> Made:
    w = _Writer(folder, name)
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
    return _encoder(folder, "bert", 24, _to(1024 * scale, 64), max(1, round(16 * scale)), 128, 30522)


def vit_large(folder: Path, scale: float) -> Made:
    """The encoder, on the 197 places of a picture."""
    return _encoder(folder, "vit", 24, _to(1024 * scale, 64), max(1, round(16 * scale)), 197)


def whisper_small(folder: Path, scale: float) -> Made:
    """The encoder, on 30 seconds: two convolutions over 3,000 frames of 80 bands, then 12 layers."""
    w = _Writer(folder, "whisper")
    width, heads = _to(768 * scale, 64), max(1, round(12 * scale))
    w.constant("heads", [0, 0, heads, -1])
    w.constant("joined", [0, 0, -1])
    w.constant("root", float((width // heads) ** 0.5), np.float32)
    x, bands = w.input("x", ["batch", 80, 3000]), 80
    for at, stride in enumerate((1, 2)):
        weights = [w.floats(f"conv{at}.w", width, bands, 3), w.floats(f"conv{at}.b", width, size=0.01)]
        convolved = w.node("Conv", [x, *weights], f"conv{at}", pads=[1, 1], strides=[stride])
        x, bands = w.node("Gelu", [convolved], f"conv{at}.h"), width
    x = w.node("Transpose", [x], "frames", perm=[0, 2, 1])
    for layer in range(12):
        x = w.encoder_layer(x, width, heads, f"layer{layer}")
    w.output(w.normalized(x, width, "y"), ["batch", "rows", width])
    return w.finish({"x": np.random.default_rng(1).standard_normal((1, 80, 3000), np.float32)})


def unet(folder: Path, scale: float) -> Made:
    """The convolutions of Stable Diffusion 1.5's UNet, by levels, on 32 x 32."""
    w = _Writer(folder, "unet")
    widths = [_to(width * scale, 32) for width in (320, 640, 1280, 1280)]
    x = w.node("Conv", [w.input("x", ["batch", 4, 32, 32]), w.floats("first", widths[0], 4, 3, 3)], "x0", pads=[1] * 4)
    last, kept = widths[0], [("x0", widths[0])]
    for level, width in enumerate(widths):
        for block in range(2):
            x = w.residual(x, last, width, f"down{level}.{block}")
            last = width
            kept.append((x, width))
        if level < 3:
            x = w.node("Conv", [x, w.floats(f"half{level}", width, width, 3, 3)], f"halved{level}", pads=[1] * 4,
                       strides=[2, 2])  # fmt: skip
            kept.append((x, width))
    x = w.residual(x, last, last, "middle")
    w.constant("double", [1, 1, 2, 2], np.float32)
    for level, width in reversed([*enumerate(widths)]):
        for block in range(3):
            skip, more = kept.pop()
            joined = w.node("Concat", [x, skip], f"up{level}.{block}.joined", axis=1)
            x = w.residual(joined, last + more, width, f"up{level}.{block}")
            last = width
        if level:
            larger = w.node("Resize", [x, "", "double"], f"larger{level}", mode="nearest",
                            coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
            x = w.node(
                "Conv", [larger, w.floats(f"larger{level}.w", width, width, 3, 3)], f"grown{level}", pads=[1] * 4
            )
    w.output(w.node("Conv", [x, w.floats("last", 4, last, 3, 3)], "y", pads=[1] * 4), ["batch", 4, 32, 32])
    return w.finish({"x": np.random.default_rng(1).standard_normal((1, 4, 32, 32), np.float32)})


class LlamaShape(NamedTuple):
    """Sizes of a Llama. size: elements of a head; wide: of the feed-forward layer."""

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
    """1.1 billion parameters at scale 1."""
    return LlamaShape(16, max(4, round(32 * scale)), max(1, round(8 * scale)), 64, _to(32000 * scale, 64))


def llama(folder: Path, shape: LlamaShape, *, zeros: bool) -> Made:
    """A Llama of 4 bits as onnxruntime-genai's builder writes it, with its genai_config.json; one step after 128."""
    w = _Writer(folder, "llama")
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
    for at in range(shape.layers):
        y = f"layer{at}"
        parts = [
            w.quantized(n, width, own * size, f"{y}.{part}", zeros=zeros)
            for part, own in (("q", shape.heads), ("k", shape.kv_heads), ("v", shape.kv_heads))
        ]
        caches, presents = [], []
        for part in ("key", "value"):
            caches.append(w.input(f"past_key_values.{at}.{part}", ["batch", shape.kv_heads, "past", size]))
            held = np.random.default_rng(at).standard_normal((1, shape.kv_heads, past, size), np.float32)
            feeds[caches[-1]] = held
            presents.append(f"present.{at}.{part}")
            w.output(presents[-1], ["batch", shape.kv_heads, "all", size])
        attended = w.node(
            "GroupQueryAttention", [*parts, *caches, lengths, total, "cos", "sin"], f"{y}.a", *presents,
            domain=_CONTRIB, num_heads=shape.heads, kv_num_heads=shape.kv_heads, do_rotary=1,
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
}
