"""Memory of a decoder's shared caches on the device."""

from __future__ import annotations

import threading

import numpy.typing as npt

from dml.api.bound import OutputBuffers
from dml.api.device_array import DeviceArray, stored_dtype
from dml.runtime.context import Context
from dml.tensors import data_type_of, packed_tensor


class CacheMemory:
    """Buffers by cache. A generation reuses the buffers of an earlier one that has ended: recordings over them are
    still valid."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._buffers = OutputBuffers(context)
        self._lock = threading.Lock()
        context.spare.add(self)

    def array(self, slot: int, shape: tuple[int, ...], dtype: npt.DTypeLike, *, zero: bool = True) -> DeviceArray:
        """Return an array that no other generation uses. slot: number of the cache. zero: clear it; otherwise its
        contents are unspecified."""
        desc = packed_tensor(data_type_of(stored_dtype(dtype)), shape)
        with self._lock:
            buffer, lease = self._buffers.take(slot, int(desc.TotalTensorSizeInBytes or 0))
        if zero:
            # Attention multiplies positions that are not used yet by 0, which does not remove an infinity.
            self._context.fill(buffer.piece)
        return DeviceArray(desc, buffer, lease, dtype=dtype)

    def clear(self) -> None:
        """Release the memory that no generation uses."""
        with self._lock:
            self._buffers = OutputBuffers(self._context)
