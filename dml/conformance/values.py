"""Inputs of cases: ordinary values, and those at the limits of a data type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.layouts import Tensor, tensors
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, element_bits, numpy_dtype

Array = npt.NDArray[Any]


def integer_range(kind: np.dtype[Any]) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer type, including ml_dtypes' 4-bit types."""
    if kind.name in ("int4", "uint4"):
        return (-8, 7) if kind.name == "int4" else (0, 15)
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


def is_float(kind: np.dtype[Any]) -> bool:
    return kind.kind == "f"


class Values:
    """Makes arrays for tensors, the same in every run of a case.

    edges: ``fill`` mixes in zeros of both signs, subnormals, infinities, NaN, the largest and smallest numbers, and the
    extremes of integers.
    """

    def __init__(self, seed: int, *, edges: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.edges = edges

    def fill(self, tensor: DML_BUFFER_TENSOR_DESC) -> Array:
        """Draw values between -4 and 4 (0 and 8 for unsigned types); with ``edges``, a third of them special."""
        ordinary = self.between(tensor, -4, 4)
        if not self.edges:
            return ordinary
        special = _special(ordinary.dtype)
        chosen = special[self.rng.integers(0, len(special), tensor.Sizes)]
        mixed = np.where(
            self.rng.random(tensor.Sizes) < 1 / 3,
            chosen.astype(_wide(ordinary.dtype)),
            ordinary.astype(_wide(ordinary.dtype)),
        )
        return np.asarray(mixed.astype(ordinary.dtype))

    def finite(self, tensor: DML_BUFFER_TENSOR_DESC) -> Array:
        """Like ``fill``, without infinities, NaN and values that overflow when a few are added or multiplied."""
        found = self.fill(tensor)
        if is_float(found.dtype):
            limit = float(np.finfo(found.dtype).max) ** 0.25
            with np.errstate(invalid="ignore"):
                found = np.where(np.abs(found) <= limit, found, self.between(tensor, -4, 4)).astype(found.dtype)
        return found

    def between(self, tensor: DML_BUFFER_TENSOR_DESC, low: float, high: float) -> Array:
        """Draw uniformly from [low, high]; integers within their type: unsigned ones from 0 to high - low."""
        kind = numpy_dtype(tensor.DataType)
        if is_float(kind):
            return np.asarray(self.rng.uniform(low, high, tensor.Sizes).astype(kind))
        least, greatest = integer_range(kind)
        if low < least:
            low, high = least, high - low + least
        drawn = self.rng.integers(int(low), min(int(high), greatest), tensor.Sizes, endpoint=True)
        return np.asarray(
            drawn.astype(np.int8).astype(kind) if element_bits(tensor.DataType) == 4 else drawn.astype(kind)
        )

    def integers(self, tensor: DML_BUFFER_TENSOR_DESC, low: int, high: int) -> Array:
        """Draw integers from low to high inclusive: indices, lengths, masks."""
        kind = numpy_dtype(tensor.DataType)
        return np.asarray(self.rng.integers(low, high, tensor.Sizes, endpoint=True).astype(kind))


def _wide(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type that ``np.where`` supports: int8 for 4-bit integers."""
    return np.dtype(np.int8) if kind.kind == "V" or kind.name in ("int4", "uint4") else kind


def _special(kind: np.dtype[Any]) -> Array:
    if is_float(kind):
        info = np.finfo(kind)
        small = float(info.smallest_subnormal)
        with np.errstate(all="ignore"):
            numbers = [0.0, -0.0, 1.0, -1.0, small, -3 * small, float(info.tiny), float(info.max), float(info.min)]
            return np.array([*numbers, np.inf, -np.inf, np.nan]).astype(kind)
    least, greatest = integer_range(kind)
    extremes = [least, greatest, 0, 1, greatest // 2] + ([-1] if least < 0 else [])
    return np.array(extremes, _wide(kind))


def without_subnormals(array: Array) -> Array:
    """Replace subnormal numbers by zeros of their sign, since Vulkan lets a device flush them."""
    if not is_float(array.dtype):
        return array
    tiny = np.finfo(array.dtype).tiny
    return np.where((array != 0) & (np.abs(array) < tiny), np.copysign(array.dtype.type(0), array), array)


# --- inputs of whole operators, if they have no tensor arrays ---------------------------------------------------------


def filled(desc: OperatorDesc, make: Callable[[str, Tensor], Array]) -> dict[str, Array]:
    """Return make(field, tensor) for each input that the description has, by field."""
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
