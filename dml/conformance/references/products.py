"""Matrix products of numbers and of quantized numbers, and quantization of the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.limits import Expected
from dml.conformance.references.rounded import Numbers, each
from dml.tensors import DML_BUFFER_TENSOR_DESC, numpy_dtype

Array = npt.NDArray[Any]

#: Relative error of scaling in float32 before rounding to an integer: a few products and quotients.
_SCALING = 10 * 2.0**-24


def gemm(
    a: Numbers, b: Numbers, c: Numbers | None, alpha: float, beta: float, *, a_turned: bool, b_turned: bool
) -> Numbers:
    """Return alpha * a @ b + beta * c. turned: transpose the operand first."""
    product = (each(a, _turned) if a_turned else a) @ (each(b, _turned) if b_turned else b)
    return product * alpha if c is None else product * alpha + c * beta


def _turned(x: Array) -> Array:
    return x.swapaxes(-1, -2)


def along(values: Array | None, rank: int, axis: int) -> Array:
    """Return a scale or zero point (one, or one per row, column or channel) in a shape that broadcasts; 0 for None."""
    if values is None:
        return np.zeros((1,) * rank)
    sizes = [1] * rank
    sizes[axis] = values.size
    return values.astype(np.float64).reshape(sizes)


def less_zero_point(inputs: Mapping[str, Any], name: str, axis: int) -> Array:
    """Return ``{name}Tensor`` minus its zero point, which has one element or one along the axis; exact."""
    x = inputs[f"{name}Tensor"].astype(np.float64)
    return np.asarray(x - along(inputs.get(f"{name}ZeroPointTensor"), x.ndim, axis))


def quantized(real: Array, zero_point: Array, tensor: DML_BUFFER_TENSOR_DESC) -> Expected:
    """Return round(real) + zero point, to nearest even, within the tensor's type; next to a tie either neighbour is
    allowed."""
    kind = numpy_dtype(tensor.DataType)
    info = np.iinfo(kind)
    reach = _SCALING * np.abs(real)
    ambiguous = np.rint(real - reach) != np.rint(real + reach)
    values = np.clip(np.rint(real) + zero_point, info.min, info.max)
    why = "exact, except where float32 may round to either side of a tie"
    return Expected(values.astype(kind), 0.0, ambiguous.astype(np.float64), why)
