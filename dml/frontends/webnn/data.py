"""Conversion between arrays and a tensor's bytes. Each byte holds two 4-bit elements, the first one in the low half."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array
from dml.errors import DMLError
from dml.frontends.webnn.operands import FOUR_BITS, MLOperandDescriptor

Array = npt.NDArray[Any]


def matching_array(descriptor: MLOperandDescriptor, data: Any, where: str) -> Array:
    """Return the data as a new array with the type and shape of a valid descriptor.

    data: an array of the data type, or the elements' bytes, as bytes or a UINT8 array. Raises DMLError if its data type
    or its number of elements differs from the descriptor's.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        array: Array = np.frombuffer(bytes(data), np.uint8)
    else:
        array = as_array(data, where)
    wanted = np.dtype(descriptor.numpy_dtype)
    own = array.dtype == wanted
    if not own and array.dtype != np.uint8:
        raise DMLError(f"{where}: takes {descriptor.data_type} or bytes, found {array.dtype}")
    needed, what = (descriptor.element_count, "elements") if own else (descriptor.byte_length, "bytes")
    if array.size != needed:
        raise DMLError(
            f"{where}: {descriptor.data_type} {descriptor.shape} has {needed} {what}, the data has {array.size}"
        )
    return array.reshape(descriptor.shape).copy() if own else from_bytes(descriptor, array)


def to_bytes(array: Array) -> npt.NDArray[np.uint8]:
    """Return the elements' bytes."""
    if array.dtype.name not in FOUR_BITS:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    low = array.reshape(-1).astype(np.int8).view(np.uint8) & 15
    low = np.pad(low, (0, low.size % 2))
    return np.asarray(low[0::2] | low[1::2] << 4, np.uint8)


def from_bytes(descriptor: MLOperandDescriptor, data: npt.NDArray[np.uint8]) -> Array:
    """Return the elements in the bytes, with a descriptor's type and shape."""
    flat = np.ascontiguousarray(data).reshape(-1)
    if descriptor.data_type not in FOUR_BITS:
        elements: Array = flat.view(descriptor.numpy_dtype)
        return elements.reshape(descriptor.shape).copy()
    halves = np.stack([flat & 15, flat >> 4], -1).reshape(-1)[: descriptor.element_count].astype(np.int8)
    if descriptor.data_type == "int4":
        halves = (halves ^ 8) - 8
    nibbles: Array = halves.astype(descriptor.numpy_dtype)
    return nibbles.reshape(descriptor.shape)
