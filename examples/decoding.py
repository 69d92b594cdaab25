"""Two small language models write 64 tokens each, with their key-value caches on the device.

    python examples/decoding.py

A GPT-2 whose cache grows with each token, as exporters write it: each length is planned when it first comes up, with
the kernels of the previous one. And a Llama (grouped queries, rotary positions) whose cache has room for all tokens
from the start: ``shared`` writes new keys and values into it in place, and one plan serves all lengths. Both have
random weights. ``keep`` leaves caches and the next token on the device; each token is compared with that of
onnxruntime's CPU provider.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

import dml
from dml.frontends.onnx import prepare

try:
    import onnxruntime
except ModuleNotFoundError:
    sys.exit("this example compares with onnxruntime: pip install onnxruntime")

LAYERS, WIDTH, HEADS, KEY_HEADS, VOCABULARY, ROOM = 2, 128, 4, 2, 512, 128
SIZE = WIDTH // HEADS
PROMPT, TOKENS = (3, 141, 59, 26, 5), 64
Feeds = dict[str, Any]


class Net:
    """A model under construction: nodes and random weights."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def held(self, array: npt.ArrayLike) -> str:
        """Add an initializer; return its name."""
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"w{len(self.weights)}"))
        return str(self.weights[-1].name)

    def random(self, *shape: int) -> str:
        return self.held((self.rng.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32))

    def __call__(self, op: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Add a node; return the name of its first output."""
        names = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0]

    def heads(self, x: str, count: int) -> str:
        """Transpose {1, n, count * SIZE} to {1, count, n, SIZE}."""
        split = self("Reshape", x, self.held(np.array([1, -1, count, SIZE])))
        return self("Transpose", split, perm=[0, 2, 1, 3])

    def next_token(self, x: str) -> None:
        """Output the likeliest token after the last position, {1, 1}."""
        last = self("Slice", x, self.held([-1]), self.held([2**31]), self.held([1]))
        logits = self("MatMul", last, self.random(WIDTH, VOCABULARY))
        self("ArgMax", logits, outputs=["token"], axis=2, keepdims=0)

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> bytes:
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def caches(heads: int, before: int | str, after: int | str) -> tuple[list[Any], list[Any]]:
    """Return inputs and outputs for keys and values: past0 and present0 for the first layer's keys, and so on."""
    return tuple(  # type: ignore[return-value]
        [helper.make_tensor_value_info(f"{name}{index}", TensorProto.FLOAT, [1, heads, length, SIZE])
         for index in range(2 * LAYERS)]
        for name, length in (("past", before), ("present", after))
    )  # fmt: skip


def token_entries() -> tuple[Any, Any]:
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "n"])
    return ids, helper.make_tensor_value_info("token", TensorProto.INT64, [1, 1])


def gpt2() -> bytes:
    """Return a GPT-2: learned positions, layer normalization, GELU; present = past and the new keys or values."""
    net = Net(1)
    zero, one = net.held(np.array(0)), net.held(np.array(1))
    past = net("Gather", net("Shape", "past0"), net.held(np.array(2)))
    total = net("Add", past, net("Gather", net("Shape", "ids"), one))
    places = net("Range", past, total, one)
    x = net("Add", net("Gather", net.random(VOCABULARY, WIDTH), "ids"), net("Gather", net.random(ROOM, WIDTH), places))
    behind = net("Greater", net("Range", zero, total, one), net("Unsqueeze", places, net.held([1])))
    closed = net.held(np.float32(-1e9))

    def norm(x: str) -> str:
        scale, shift = net.held(np.ones(WIDTH, np.float32)), net.held(np.zeros(WIDTH, np.float32))
        return net("LayerNormalization", x, scale, shift)

    for layer in range(LAYERS):
        y = norm(x)
        query, key, value = (net.heads(net("MatMul", y, net.random(WIDTH, WIDTH)), HEADS) for _ in range(3))
        index = 2 * layer
        key = net("Concat", f"past{index}", key, outputs=[f"present{index}"], axis=2)
        value = net("Concat", f"past{index + 1}", value, outputs=[f"present{index + 1}"], axis=2)
        scores = net("MatMul", query, net("Transpose", key, perm=[0, 1, 3, 2]))
        scores = net("Mul", scores, net.held(np.float32(SIZE**-0.5)))
        mixed = net("MatMul", net("Softmax", net("Where", behind, closed, scores)), value)
        joined = net("Reshape", net("Transpose", mixed, perm=[0, 2, 1, 3]), net.held([1, -1, WIDTH]))
        x = net("Add", x, net("MatMul", joined, net.random(WIDTH, WIDTH)))
        wide = net("Gelu", net("MatMul", norm(x), net.random(WIDTH, 4 * WIDTH)), approximate="tanh")
        x = net("Add", x, net("MatMul", wide, net.random(4 * WIDTH, WIDTH)))
    net.next_token(norm(x))
    before, after = caches(HEADS, "past", "total")
    ids, token = token_entries()
    return net.model([ids, *before], [token, *after])


def llama() -> bytes:
    """Return a Llama: root-mean-square normalization, gated SiLU, GroupQueryAttention with rotary positions, a cache of
    fixed size."""
    net = Net(2)
    angles = np.outer(np.arange(ROOM), 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2))).astype(np.float32)
    cosines, sines = net.held(np.cos(angles)), net.held(np.sin(angles))
    x = net("Gather", net.random(VOCABULARY, WIDTH), "ids")

    def norm(x: str) -> str:
        mean = net("ReduceMean", net("Mul", x, x), net.held([-1]))
        scaled = net("Div", x, net("Sqrt", net("Add", mean, net.held(np.float32(1e-5)))))
        return net("Mul", scaled, net.held(np.ones(WIDTH, np.float32)))

    for layer in range(LAYERS):
        y, index = norm(x), 2 * layer
        query, key, value = (net("MatMul", y, net.random(WIDTH, n * SIZE)) for n in (HEADS, KEY_HEADS, KEY_HEADS))
        mixed = net(
            "GroupQueryAttention", query, key, value, f"past{index}", f"past{index + 1}", "last", "total", cosines,
            sines,
            outputs=[f"mixed{layer}", f"present{index}", f"present{index + 1}"], domain="com.microsoft",
            num_heads=HEADS, kv_num_heads=KEY_HEADS, do_rotary=1,
        )  # fmt: skip
        x = net("Add", x, net("MatMul", mixed, net.random(WIDTH, WIDTH)))
        y = norm(x)
        gate, wide = (net("MatMul", y, net.random(WIDTH, 3 * WIDTH)) for _ in range(2))
        gated = net("Mul", net("Mul", gate, net("Sigmoid", gate)), wide)
        x = net("Add", x, net("MatMul", gated, net.random(3 * WIDTH, WIDTH)))
    net.next_token(norm(x))
    before, after = caches(KEY_HEADS, ROOM, ROOM)
    ids, token = token_entries()
    last = helper.make_tensor_value_info("last", TensorProto.INT32, [1])  # position of the newest token
    total = helper.make_tensor_value_info("total", TensorProto.INT32, [])
    return net.model([ids, *before, last, total], [token, *after])


def start(model: bytes) -> Feeds:
    """Return the inputs for the prompt: empty caches, of length 0 unless their length is fixed."""
    feeds: Feeds = {"ids": np.array([PROMPT])}
    for entry in onnx.load_from_string(model).graph.input:
        if entry.name.startswith("past"):
            feeds[entry.name] = np.zeros([dim.dim_value for dim in entry.type.tensor_type.shape.dim], np.float32)
    return feeds | positions(feeds, len(PROMPT))


def positions(feeds: Feeds, count: int) -> Feeds:
    """Return the inputs that hold the number of positions, for a model whose cache has a fixed size."""
    fixed = feeds["past0"].shape[2] == ROOM
    return {"last": np.array([count - 1], np.int32), "total": np.array(count, np.int32)} if fixed else {}


def written(run: Callable[[Feeds], Sequence[Any]], feeds: Feeds, count: int) -> tuple[list[int], float]:
    """Return ``count`` tokens, and the tokens per second after the first. Each step's outputs are the next step's
    inputs."""
    tokens: list[int] = []
    began = time.perf_counter()
    for index in range(count):
        token, *present = run(feeds)
        feeds = {"ids": token, **{f"past{layer}": cache for layer, cache in enumerate(present)}}
        feeds |= positions(feeds, len(PROMPT) + index + 1)
        tokens.append(int(np.asarray(token)[0, 0]))
        if index == 0:
            began = time.perf_counter()
    return tokens, (count - 1) / (time.perf_counter() - began)


def compare(model: bytes, device: dml.Device, count: int = TOKENS) -> tuple[list[int], list[int], float]:
    """Return the tokens of dml and of onnxruntime, and how many dml wrote per second."""
    prepared = prepare(model, device)

    def step(feeds: Feeds) -> Sequence[Any]:
        pasts = [name for name in feeds if name.startswith("past")]
        if feeds["past0"].shape[2] != ROOM:  # the cache grows
            return prepared.run(feeds, keep=prepared.outputs)
        held = {name: device.to_device(feeds[name]) for name in pasts}
        shared = {f"present{name.removeprefix('past')}": name for name in pasts}
        return prepared.run(feeds | held, keep=prepared.outputs, shared=shared)

    found, speed = written(step, start(model), count)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    expected, _ = written(lambda feeds: session.run(None, feeds), start(model), count)
    return found, expected, speed


def main() -> None:
    device = dml.create_device()
    print(f"device: {device.vulkan.name}")
    for name, make in (("GPT-2", gpt2), ("Llama", llama)):
        found, expected, speed = compare(make(), device)
        equal = sum(a == b for a, b in zip(found, expected, strict=True))
        print(f"{name}: {' '.join(map(str, found[:12]))} ...")
        print(f"{name}: {equal} of {TOKENS} tokens are onnxruntime's, {speed:.1f} tokens per second")
        if found != expected:
            raise SystemExit(f"{name}: a token differs: {expected}")


if __name__ == "__main__":
    main()
