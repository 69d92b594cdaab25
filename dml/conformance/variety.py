"""Helpers shared by subjects: sizes of every rank, axes, scalars, exact results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, Skip, sizes
from dml.conformance.values import Values, integer_range, is_float
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, numpy_dtype

Array = npt.NDArray[Any]

#: One to eight dimensions, sizes of one and primes, rows of whole 16 bytes, and a few thousand elements.
SIZES = sizes("2x3x4", "1", "7", "1x3x1x5", "6x64", "2x1x3x2x1x2x1x3", "5x37x41")

#: Axes by label, as a fraction of the dimension count.
AXES = {"last": 1.0, "first": 0.0, "middle": 0.5}


def axis_of(choice: Choice, rank: int) -> int:
    """Return the dimension that ``choice.axis`` names. Raises Skip if an earlier name in AXES means the same one."""
    named = {label: min(int(rank * part), rank - 1) for label, part in AXES.items()}
    label = choice.label("axis")
    first = next(name for name, axis in named.items() if axis == named[label])
    if first != label:
        raise Skip(f"with {rank} dimensions, the {label} one is the {first} one")
    return named[label]


def greatest(kind: np.dtype[Any]) -> Any:
    """Return the largest finite number of a data type."""
    return np.finfo(kind).max if is_float(kind) else integer_range(kind)[1]


def least(kind: np.dtype[Any]) -> Any:
    """Return the smallest finite number of a data type."""
    return np.finfo(kind).min if is_float(kind) else integer_range(kind)[0]


#: Scalars by label: functions from a data type to one of its numbers.
SCALARS: dict[str, Any] = {
    "7": lambda kind: 7,
    "0": lambda kind: 0,
    "greatest": greatest,
    "least": least,
    "fraction": lambda kind: -1.7 if is_float(kind) else 1,
}


def union_of(value: Any, kind: np.dtype[Any]) -> DML_SCALAR_UNION:
    """Return a number of a data type as a scalar union."""
    return DML_SCALAR_UNION(Bytes=np.array(value, kind).astype(kind.newbyteorder("<")).tobytes())


def scalar_fields(choice: Choice, name: str) -> dict[str, Any]:
    """Return a scalar union of the choice's ``type`` and ``value``, and its data type, by field."""
    kind = numpy_dtype(choice.type)
    return {f"{name}DataType": choice.type, name: union_of(choice.value(kind), kind)}


def any_bits(values: Values, tensor: DML_BUFFER_TENSOR_DESC) -> Array:
    """Draw integers over the whole range of a tensor's type."""
    return values.rng.integers(0, 256, (*tensor.Sizes, tensor.dtype.itemsize), np.uint8).view(tensor.dtype)[..., 0]


def far_integers(kind: np.dtype[Any]) -> Array:
    """Return integers at the limits of an index type and, for 64 bits, some whose low words are small."""
    numbers = [least(kind), greatest(kind)] + ([2**32, 2**32 + 1] if kind.itemsize == 8 else [])
    return np.array(numbers + ([-(2**32), -(2**32) - 1] if kind == np.int64 else []), kind)


def chosen(values: Array) -> Expected:
    """Return expected values that a comparison selected: exact, except for choices among subnormals.

    A device may compare those as zeros and return one of them unchanged (SwiftShader). FLOAT16's are normal in float32.
    """
    if not is_float(values.dtype) or values.dtype == np.float16:
        return exact(values)
    tiny = float(np.finfo(values.dtype).tiny)
    allowed = np.where(np.abs(values) < tiny, tiny, 0.0)
    return Expected(values.astype(np.float64), absolute=allowed, why="exact, subnormals compared as zeros")


def moved(values: Array) -> Expected:
    """Return expected values that are copies of input elements: zeros keep their signs, and subnormals their values."""
    return replace(exact(values), moved=True)


def exact(values: Array) -> Expected:
    """Return expected values without tolerance."""
    return Expected(values.astype(np.float64) if is_float(values.dtype) else values)
