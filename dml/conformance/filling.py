"""Inputs of operators without tensor arrays, made tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from dml.conformance.layouts import Tensor, tensors
from dml.conformance.values import Values
from dml.descriptors.base import OperatorDesc

Array = npt.NDArray[Any]


def filled(desc: OperatorDesc, make: Callable[[str, Tensor], Array]) -> dict[str, Array]:
    """Call make(field, tensor) for each input present."""
    return {name: make(name, tensor) for name, _, tensor in tensors(desc.inputs())}


def finite(desc: OperatorDesc, values: Values) -> dict[str, Array]:
    """Fill all inputs by `Values.finite`, for sums of products."""
    return filled(desc, lambda name, tensor: values.finite(tensor))


def quantized(
    *, scale: tuple[float, float], output_scale: tuple[float, float], bias: tuple[float, float] = (0, 0)
) -> Callable[[OperatorDesc, Values], dict[str, Array]]:
    """Return a maker of quantized operators' inputs, with scales and biases from these ranges.

    8-bit operands are from their whole range (with extremes for edge values); wider ones are small, to test the sum.
    """

    def inputs(desc: OperatorDesc, values: Values) -> dict[str, Array]:
        def make(name: str, tensor: Tensor) -> Array:
            if "Scale" in name:
                return values.between(tensor, *(output_scale if name == "OutputScaleTensor" else scale))
            if name == "BiasTensor":
                return values.between(tensor, *bias)
            if "ZeroPoint" in name or tensor.element_bits > 8:
                return values.between(tensor, -60, 60)
            return values.fill(tensor) if values.edges else values.between(tensor, -128, 127)

        return filled(desc, make)

    return inputs
