"""Helpers of the WebNN tests: run an operation on arrays, from context to result."""

from __future__ import annotations

import itertools
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
    """Dispatch a graph with new tensors; return its outputs."""
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
    """Return the outputs of make(builder, *operands, **options) for these arrays. Options that are arrays become
    operands, too. Operands alternate between inputs and constants."""
    context = create_context(device)
    builder = MLGraphBuilder(context)
    inputs: dict[str, Array] = {}
    count = itertools.count()

    def operand(array: Array) -> MLOperand:
        at = next(count)
        if at % 2:
            return builder.constant(described(array), array)
        inputs[f"in{at}"] = array
        return builder.input(f"in{at}", described(array))

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
