"""What the tests of the WebNN front end share: an operation run on arrays, from context to result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import dml
from dml.frontends.webnn import (
    MLContext,
    MLGraphBuilder,
    MLOperand,
    MLOperandDescriptor,
    MLTensorDescriptor,
    create_context,
)

Array = npt.NDArray[Any]


def described(array: Array) -> MLOperandDescriptor:
    return MLOperandDescriptor(array.dtype.name, array.shape)


def dispatch(context: MLContext, graph: Any, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The graph's outputs, by tensors made for this run."""
    sources = {}
    for name, array in inputs.items():
        sources[name] = context.create_tensor(MLTensorDescriptor(array.dtype.name, array.shape, writable=True))
        context.write_tensor(sources[name], array)
    results = {
        name: context.create_tensor(MLTensorDescriptor(one.data_type, one.shape, readable=True))
        for name, one in graph.outputs.items()
    }
    context.dispatch(graph, sources, results)
    return {name: context.read_tensor(tensor) for name, tensor in results.items()}


def compute(
    device: dml.Device, make: Callable[..., MLOperand | list[MLOperand]], *arrays: Array, **options: Any
) -> Any:
    """make(builder, *operands, **options) on these arrays; the operation's outputs. Options that are arrays become
    operands, the even ones of all operands constants."""
    context = create_context(device)
    builder = MLGraphBuilder(context)
    inputs: dict[str, Array] = {}

    def operand(array: Array) -> MLOperand:
        if len(inputs) % 2:
            return builder.constant(described(array), array)
        inputs[f"in{len(inputs)}"] = array
        return builder.input(f"in{len(inputs) - 1}", described(array))

    given = [operand(array) for array in arrays]
    named = {name: operand(value) if isinstance(value, np.ndarray) else value for name, value in options.items()}
    made = make(builder, *given, **named)
    outputs = made if isinstance(made, list) else [made]
    graph = builder.build({f"out{at}": one for at, one in enumerate(outputs)})
    results = list(dispatch(context, graph, {name: inputs[name] for name in graph.inputs}).values())
    for one, array in zip(outputs, results, strict=True):
        assert (one.data_type, one.shape) == (array.dtype.name, array.shape)
    context.destroy()
    return results if isinstance(made, list) else results[0]
