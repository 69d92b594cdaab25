"""Tensors that stay on the device between runs."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from dml.api.arrays import Array, TensorMemory, packed_bytes
from dml.arguments import as_array
from dml.errors import DMLError
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context
from dml.tensors import DML_BUFFER_TENSOR_DESC, data_type_of, numpy_dtype, packed_strides, packed_tensor

#: Types that DirectML lacks, and the types that hold their values on the device.
_STORED_AS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.bool_): np.dtype(np.uint8),
    np.dtype(ml_dtypes.bfloat16): np.dtype(np.float32),
}
_CPU = 1  # DLPack's kDLCPU


def stored_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the type in which the device holds elements of a NumPy type."""
    return _STORED_AS.get(np.dtype(dtype), np.dtype(dtype))


class Lease:
    """Protects a buffer: while the lease is referenced, the buffer is not reused."""


class DeviceArray:
    """An array on the device: the result of ``Device.to_device``, or of a dispatch with ``keep``.

    Operators, graphs and models of its device take it in place of an array. It is never written again unless a caller
    asks for it, with ``into`` or by binding it as an output too. shape, dtype: those of the copy that ``numpy`` and
    NumPy's functions return; a bool is a UINT8 on the device, a bfloat16 a FLOAT32. Its memory is freed with the last
    reference.
    """

    def __init__(
        self,
        desc: DML_BUFFER_TENSOR_DESC | None,
        buffer: Buffer | None,
        lease: Lease | None = None,
        *,
        dtype: npt.DTypeLike,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        #: Its layout in the buffer; None for an array without elements, which has no buffer.
        self.desc = desc
        self.buffer = buffer
        self._lease = lease
        self._shape = (() if desc is None else desc.Sizes) if shape is None else shape
        self._dtype: np.dtype[Any] = np.dtype(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        return prod(self._shape)

    @property
    def nbytes(self) -> int:
        return self.size * self._dtype.itemsize

    def __repr__(self) -> str:
        return f"DeviceArray({self._dtype}, {self._shape})"

    def seen_as(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        """View the same memory as an array of another shape, or of a type that the array's own type can represent."""
        return DeviceArray(self.desc, self.buffer, self._lease, shape=shape, dtype=dtype)

    def stored(self) -> Array:
        """Return a copy on the host, in the type held on the device."""
        if self.desc is None or self.buffer is None:
            return np.zeros(self._shape, stored_dtype(self._dtype))
        words = self.buffer.read(np.uint32, int(self.desc.TotalTensorSizeInBytes or 0) // 4)
        return TensorMemory(words, self.desc).load()

    def numpy(self) -> Array:
        """Return a copy on the host. Waits for the device."""
        return self.stored().reshape(self._shape).astype(self._dtype, copy=False)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a DeviceArray cannot become a NumPy array without a copy")
        return self.numpy().astype(dtype or self._dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """Export to ``from_dlpack`` of any library: the memory itself if the host shares it, else a copy."""
        return self._on_host().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0

    def _on_host(self) -> Array:
        view = None if self.buffer is None else self.buffer.piece.view
        packed = packed_strides(self._shape or (1,))
        if self.desc is None or view is None or self.desc.strides != packed or self._is_converted:
            return self.numpy()
        assert self.buffer is not None
        self.buffer.context.queue.finish()
        return np.asarray(_Shared(self, view)).reshape(self._shape)

    @property
    def _is_converted(self) -> bool:
        return stored_dtype(self._dtype).itemsize != self._dtype.itemsize


class _Shared:
    """Keeps a buffer's memory alive while a NumPy array reads it without a copy."""

    def __init__(self, array: DeviceArray, view: npt.NDArray[np.uint8]) -> None:
        self._array = array
        flat = view[: array.nbytes].view(array.dtype)
        self.__array_interface__ = flat.__array_interface__


class ArrayCheck:
    """Checks arrays, on host or device, against a tensor's data type and sizes. where: the start of error messages."""

    def __init__(self, desc: DML_BUFFER_TENSOR_DESC, where: str, context: Context) -> None:
        self._desc = desc
        self._where = where
        self._context = context
        self._dtype = numpy_dtype(desc.DataType)

    def __call__(self, value: npt.ArrayLike | DeviceArray) -> Array | DeviceArray:
        """Return ``value`` as an array. Raises DMLError if it does not match."""
        desc = self._desc
        if isinstance(value, DeviceArray):
            return self._on_device(value)
        array = as_array(value, self._where)
        if array.dtype != self._dtype:
            raise DMLError(
                f"{self._where}: its data type {desc.DataType.name} takes arrays of {self._dtype}, found {array.dtype}"
            )
        if array.shape != desc.Sizes:
            raise DMLError(f"{self._where}: its sizes are {desc.Sizes}, found an array of shape {array.shape}")
        return array

    def _on_device(self, array: DeviceArray) -> DeviceArray:
        desc, own = self._desc, array.desc
        if own is None or own.DataType != desc.DataType or own.Sizes != desc.Sizes:
            raise DMLError(f"{self._where}: takes {desc.DataType.name} of sizes {desc.Sizes}, found {array}")
        if array.buffer is None or array.buffer.context is not self._context:
            raise DMLError(f"{self._where}: the array is on another device")
        return array


def to_device(context: Context, value: npt.ArrayLike) -> DeviceArray:
    """Copy an array to a new buffer. Raises DMLError for a value that is not an array, or has a type that
    DirectML lacks."""
    if isinstance(value, DeviceArray):
        return value
    array = as_array(value, "Device.to_device")
    stored = array.astype(stored_dtype(array.dtype), copy=False).reshape(array.shape or (1,))
    kind = data_type_of(stored.dtype)
    if not array.size:
        return DeviceArray(None, None, shape=array.shape, dtype=array.dtype)
    desc = packed_tensor(kind, stored.shape)
    data = packed_bytes(stored, desc)
    buffer = context.buffer(int(desc.TotalTensorSizeInBytes or 0), zero=data.size % 4 != 0)
    buffer.write(data)
    return DeviceArray(desc, buffer, shape=array.shape, dtype=array.dtype)
