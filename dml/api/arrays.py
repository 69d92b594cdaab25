"""Conversion between NumPy arrays and the bytes of a tensor description."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml.tensors import DML_BUFFER_TENSOR_DESC, element_bits, numpy_dtype, packed_strides

Array = npt.NDArray[Any]


def _strided(words: npt.NDArray[np.uint32], desc: DML_BUFFER_TENSOR_DESC) -> Array:
    """Return a view of the tensor's elements; the tensor begins at the first word."""
    dtype = numpy_dtype(desc.DataType)
    steps = [stride * dtype.itemsize for stride in desc.strides]
    return np.ndarray(desc.Sizes, dtype, words, strides=steps)


def _fields(words: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint8]:
    """Return the numbers of 2 or 4 bits in the words."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return (words.view(np.uint8)[:, None] >> shifts & np.uint8((1 << bits) - 1)).reshape(-1)


class TensorMemory:
    """A tensor at the start of a buffer's words, for repeated writes from arrays and reads into new ones."""

    def __init__(self, words: npt.NDArray[np.uint32], desc: DML_BUFFER_TENSOR_DESC) -> None:
        self._words = words
        self._desc = desc
        self._bits = element_bits(desc.DataType)
        self._elements = None if self._bits < 8 else _strided(words, desc)
        #: Index of the elements to store: the first one along each dimension of stride 0. None without such dimensions.
        self._once: tuple[slice, ...] | None = None
        self._written = self._elements
        if 0 in desc.strides:
            self._once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in desc.strides)
            self._written = None if self._elements is None else self._elements[self._once]

    def clear(self) -> None:
        """Zero the bytes between elements; elements may be zeroed too."""
        elements = self._elements
        covered = elements.nbytes if elements is not None and elements.flags.c_contiguous else 0
        self._words[covered // 4 :] = 0

    def store(self, array: Array) -> None:
        """Write the array's elements to the positions that the tensor's strides give."""
        if self._once is not None:
            array = array[self._once]
        if self._written is not None:
            self._written[...] = array
            return
        bits, flat = self._bits, _fields(self._words, self._bits)
        elements = np.lib.stride_tricks.as_strided(flat, array.shape, self._desc.strides)
        elements[...] = array.astype(np.int8).astype(np.uint8) & ((1 << bits) - 1)
        shifted = flat.reshape(-1, 8 // bits) << np.arange(0, 8, bits, dtype=np.uint8)
        self._words.view(np.uint8)[:] = np.bitwise_or.reduce(shifted, axis=-1)

    def load(self) -> Array:
        """Return a packed copy of the elements."""
        if self._elements is not None:
            return self._elements.copy()
        desc = self._desc
        values = np.lib.stride_tricks.as_strided(_fields(self._words, self._bits), desc.Sizes, desc.strides)
        dtype = numpy_dtype(desc.DataType)
        signed = np.where(values > 7, values.astype(np.int8) - 16, values) if dtype.name == "int4" else values
        return signed.astype(np.int8).astype(dtype)


def packed_bytes(array: Array, desc: DML_BUFFER_TENSOR_DESC) -> npt.NDArray[np.uint8]:
    """Return all bytes of the tensor, with elements placed by its strides; the array's own bytes if the layouts
    agree."""
    size = int(desc.TotalTensorSizeInBytes or 0)
    if element_bits(desc.DataType) >= 8 and desc.strides == packed_strides(desc.Sizes) and array.nbytes == size:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    words = np.zeros(-(-size // 4), np.uint32)
    TensorMemory(words, desc).store(array)
    return words.view(np.uint8)
