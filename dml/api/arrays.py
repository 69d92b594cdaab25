"""NumPy arrays to and from the bytes that a tensor description says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array
from dml.errors import DMLError
from dml.tensors import DML_BUFFER_TENSOR_DESC, element_bits, numpy_dtype, packed_strides

Array = npt.NDArray[Any]


def check_array(value: npt.ArrayLike, desc: DML_BUFFER_TENSOR_DESC, where: str) -> Array:
    """``value`` as an array of the tensor's data type and sizes.

    Raises DMLError, starting with ``where``, for any other array.
    """
    array = as_array(value, where)
    wanted = numpy_dtype(desc.DataType)
    if array.dtype != wanted:
        raise DMLError(f"{where}: its data type {desc.DataType.name} takes arrays of {wanted}, found {array.dtype}")
    if array.shape != desc.Sizes:
        raise DMLError(f"{where}: its sizes are {desc.Sizes}, found an array of shape {array.shape}")
    return array


def _strided(words: npt.NDArray[np.uint32], desc: DML_BUFFER_TENSOR_DESC) -> Array:
    """The tensor's elements within the buffer that starts with it."""
    dtype = numpy_dtype(desc.DataType)
    flat = words.view(np.uint8)[: words.size * 4 // dtype.itemsize * dtype.itemsize].view(dtype)
    steps = tuple(stride * dtype.itemsize for stride in desc.strides)
    return np.lib.stride_tricks.as_strided(flat, desc.Sizes, steps)


def _nibbles(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    data = words.view(np.uint8)
    return np.stack([data & 15, data >> 4], axis=-1).reshape(-1)


def store(array: Array, words: npt.NDArray[np.uint32], desc: DML_BUFFER_TENSOR_DESC) -> None:
    """Lay the elements out by the tensor's strides. Along a stride of 0 the first element counts."""
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in desc.strides)
    array = array[once]
    if element_bits(desc.DataType) == 4:
        flat = _nibbles(words)
        strides = desc.strides
        np.lib.stride_tricks.as_strided(flat, array.shape, strides)[...] = array.astype(np.int8).astype(np.uint8) & 15
        words.view(np.uint8)[:] = flat[0::2] | flat[1::2] << 4
    else:
        _strided(words, desc)[once] = array


def packed_bytes(array: Array, desc: DML_BUFFER_TENSOR_DESC) -> npt.NDArray[np.uint8]:
    """All of the tensor's bytes with the elements laid out by its strides; the array's own where they are the same."""
    size = int(desc.TotalTensorSizeInBytes or 0)
    if element_bits(desc.DataType) != 4 and desc.strides == packed_strides(desc.Sizes) and array.nbytes == size:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    words = np.zeros(-(-size // 4), np.uint32)
    store(array, words, desc)
    return words.view(np.uint8)


def load(words: npt.NDArray[np.uint32], desc: DML_BUFFER_TENSOR_DESC) -> Array:
    """A packed copy of the tensor's elements."""
    if element_bits(desc.DataType) != 4:
        return _strided(words, desc).copy()
    values = np.lib.stride_tricks.as_strided(_nibbles(words), desc.Sizes, desc.strides)
    dtype = numpy_dtype(desc.DataType)
    signed = np.where(values > 7, values.astype(np.int8) - 16, values) if dtype.name == "int4" else values
    return signed.astype(np.int8).astype(dtype)
