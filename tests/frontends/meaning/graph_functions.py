"""Run a function of graph tensors on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

import dml
from dml.graph.builder import Builder, Tensor

Array = npt.NDArray[Any]


def run(device: dml.Device, inputs: list[Array], make: Callable[..., Tensor]) -> Array:
    builder = Builder(device)
    named = {f"input {index}": array for index, array in enumerate(inputs)}
    tensors = [builder.input(name, array.shape, dml.data_type_of(array.dtype)) for name, array in named.items()]
    found: Array = builder.compile({"y": make(*tensors)}).dispatch(named)["y"]
    return found
