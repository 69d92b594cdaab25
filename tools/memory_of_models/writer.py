"""Write ONNX models with random weights, a tensor of external data at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

_PAGE = 4096
CONTRIB = "com.microsoft"


class Made(NamedTuple):
    """A model's file, its input arrays, and the bytes of its weights."""

    path: Path
    feeds: Mapping[str, np.ndarray]
    bytes: int


class ModelWriter:
    """A graph under construction, whose weights are written to a file immediately."""

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
        """Add normal numbers. size: their standard deviation; by default, one that keeps the magnitude of
        activations."""
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
        """Add a MatMulNBits of 4 bits."""
        blocks = rows // block
        packed = self._rng.integers(0, 256, (columns, blocks, block // 2), np.uint8)
        scales = self._rng.random(columns * blocks, np.float32) * np.float32(0.4 * rows**-0.5)
        inputs = [x, self.weight(f"{y}.w", packed), self.weight(f"{y}.s", scales)]
        if zeros:
            inputs.append(self.weight(f"{y}.z", np.full(columns * blocks // 2, 0x88, np.uint8)))
        return self.node("MatMulNBits", inputs, y, domain=CONTRIB, K=rows, N=columns, bits=4, block_size=block)

    def normalized(self, x: str, width: int, y: str) -> str:
        scale, bias = self.weight(f"{y}.g", np.ones(width, np.float32)), self.floats(f"{y}.b", width, size=0.01)
        return self.node("LayerNormalization", [x, scale, bias], y, axis=-1)

    def encoder_layer(self, x: str, width: int, heads: int, y: str) -> str:
        """Add attention and two linear layers with pre-normalization. The constants "heads" and "joined" are shapes."""
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
        """Add x + more; return the sum and the normalized sum."""
        inputs = [x, more, self.floats(f"{more}.g", width, size=1)]
        n = self.node("SkipSimplifiedLayerNormalization", inputs, f"{more}.n", "", "", f"{more}.x", domain=CONTRIB,
                      epsilon=1e-5)  # fmt: skip
        return f"{more}.x", n

    def finish(self, feeds: Mapping[str, np.ndarray]) -> Made:
        size = self._data.tell()
        self._data.close()
        graph = helper.make_graph(self._nodes, self.path.stem, self._inputs, self._outputs, self._tensors)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(CONTRIB, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), self.path)
        return Made(self.path, feeds, size)


def to_multiple(number: float, multiple: int) -> int:
    """Return the nearest positive multiple."""
    return max(multiple, round(number / multiple) * multiple)


def layers_of(count: int, scale: float) -> int:
    """Return the nearest positive number of layers for a count at scale 1."""
    return max(1, round(count * scale))
