"""Building blocks of the models: nodes with seeded random weights, and inputs with named sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Input:
    """An input. dims: numbers, or names of sizes. below: random integers below this; 0 for normal floats."""

    name: str
    dims: tuple[int | str, ...]
    below: int = 0

    def array(self, sizes: Sizes, random: np.random.Generator) -> np.ndarray:
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in self.dims]
        if self.below:
            return random.integers(0, self.below, shape)
        return random.standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Model:
    """A model to measure. title: its name in reports. first: the sizes of the first run. then: the sizes that each
    later step changes, by the step's name."""

    title: str
    proto: onnx.ModelProto
    inputs: tuple[Input, ...]
    first: Sizes
    then: Mapping[str, Sizes]

    def steps(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the inputs of each step by its name, in the order of the runs."""
        random = np.random.default_rng(1)
        runs = {"first": self.first, **{name: {**self.first, **sizes} for name, sizes in self.then.items()}}
        return {name: {i.name: i.array(sizes, random) for i in self.inputs} for name, sizes in runs.items()}


class Network:
    """A graph under construction. Methods that add nodes or constants return the names of their values."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes_made: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self._count = 0

    def _name(self, what: str) -> str:
        self._count += 1
        return f"{what.lower()}_{self._count}"

    def constant(self, value: Any, dtype: type = np.float32) -> str:
        name = self._name("c")
        self.constants[name] = np.asarray(value, dtype)
        return name

    def shape(self, *sizes: int) -> str:
        return self.constant(sizes, np.int64)

    def weight(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        return self.nodes(op, 1, *inputs, **attributes)[0]

    def nodes(self, op: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several outputs."""
        outputs = [self._name(op) for _ in range(count)]
        self.nodes_made.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))
        return outputs

    def conv(self, x: str, c_in: int, c_out: int, k: int, *, stride: int = 1, pad: int = 0) -> str:
        weights = self.weight(c_out, c_in, k, k, scale=(2 / (c_in * k * k)) ** 0.5)
        bias = self.weight(c_out, scale=0.1)
        return self.node("Conv", x, weights, bias, strides=[stride] * 2, pads=[pad] * 4, kernel_shape=[k, k])

    def linear(self, x: str, c_in: int, c_out: int) -> str:
        """Add MatMul and Add, as exporters write a linear layer over the last dimension."""
        product = self.node("MatMul", x, self.weight(c_in, c_out, scale=c_in**-0.5))
        return self.node("Add", product, self.weight(c_out, scale=0.1))

    def layer_norm(self, x: str, width: int) -> str:
        scale = self.constant(1 + 0.1 * self.random.standard_normal(width))
        return self.node("LayerNormalization", x, scale, self.weight(width, scale=0.1), axis=-1, epsilon=1e-5)

    def model(self, inputs: Sequence[Input], outputs: Mapping[str, int], opset: int = 17) -> onnx.ModelProto:
        """Return the ONNX model. outputs: name -> rank."""
        graph = helper.make_graph(
            self.nodes_made,
            "model",
            [
                helper.make_tensor_value_info(i.name, TensorProto.INT64 if i.below else TensorProto.FLOAT, i.dims)
                for i in inputs
            ],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name, rank in outputs.items()],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        version = helper.make_opsetid("", opset)
        return helper.make_model(graph, opset_imports=[version], ir_version=10 if opset > 20 else 9)
