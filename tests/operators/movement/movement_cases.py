"""Helpers of the movement tests: data types and layouts."""

from __future__ import annotations

from typing import Any

import numpy as np

import dml
from harness import Array, like, random, refuse, run, tensor

TYPES = ("FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
INDEX_TYPES = ("INT64", "INT32", "UINT64", "UINT32")
NUMPY_INDEX = {name: np.dtype(name.lower()) for name in INDEX_TYPES}

#: (data type, layout of the input, layout of the output): every type, and every layout with wide and narrow types.
TYPES_AND_LAYOUTS = [(name, "packed", "packed") for name in TYPES] + [
    ("FLOAT32", "padded", "reversed"),
    ("UINT8", "reversed", "padded"),
    ("INT16", "padded", "packed"),
    ("UINT64", "packed", "reversed"),
    ("INT8", "packed", "reversed"),
    ("FLOAT16", "broadcast", "packed"),
]


def cycled(values: Any) -> list[Any]:
    """Return each of TYPES_AND_LAYOUTS with one of the values in rotation, and packed FLOAT32 with every value."""
    values = list(values)
    cases = [(*case, values[i % len(values)]) for i, case in enumerate(TYPES_AND_LAYOUTS)]
    cases += [("FLOAT32", "packed", "packed", value) for value in values]
    return list(dict.fromkeys(cases))


def numbers(dtype: str, sizes: Any, seed: int = 0) -> Array:
    """Return random elements over most of a data type's range."""
    return random(np.random.default_rng(seed), dtype, tuple(sizes), -100, 100)


def as_read(array: Array, layout: str) -> Array:
    """Return the contents of a tensor that the array was written to: in layout "broadcast", dimension 0 repeats its
    first element."""
    return np.broadcast_to(array[:1], array.shape) if layout == "broadcast" else array


def output(dtype: str, sizes: Any, layout: str = "packed") -> dml.DML_BUFFER_TENSOR_DESC:
    return tensor(dtype, tuple(sizes), layout)


__all__ = [
    "INDEX_TYPES", "NUMPY_INDEX", "TYPES", "TYPES_AND_LAYOUTS", "Array", "as_read", "cycled", "like", "numbers",
    "output", "refuse", "run", "tensor",
]  # fmt: skip
