"""Build graphs from expressions and run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

import dml
from dml.graph.builder import Builder, Tensor

Array = npt.NDArray[Any]


def evaluate(device: Any, inputs: Mapping[str, Array], make: Callable[..., Mapping[str, Tensor]]) -> dict[str, Array]:
    """Run the graph that ``make`` builds from tensors for the inputs; return its outputs in order."""
    graph = Builder(device)
    tensors = [graph.input(name, array.shape, dml.data_type_of(array.dtype)) for name, array in inputs.items()]
    found: dict[str, Array] = graph.compile(make(*tensors)).dispatch(inputs)
    return found
