"""The bytes of a graph's constants, and sharing of constants between graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dml import enums
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.stored import Stored, check_unchanged
from dml.tensors import DML_BUFFER_TENSOR_DESC


class SharedConstants:
    """Constant nodes of arrays that several graphs share: each node is created only once, and its bytes are hashed only
    once.

    An array is identified by the bytes under its view (see ``bytes_under``), which live as long as this object.
    """

    def __init__(self, data: Iterable[tuple[str, Stored]] = ()) -> None:
        """Share constants with these bytes. data: (name for messages, bytes)."""
        named = list(data)
        self._nodes = {id(buffer): DML_CONSTANT_DATA_GRAPH_NODE_DESC(buffer, Name=name) for name, buffer in named}
        #: One view of each file that contains constants.
        self._files = list({id(buffer.obj): buffer for _, buffer in named if isinstance(buffer, memoryview)}.values())
        self._derived: dict[tuple[int, Hashable], npt.NDArray[Any]] = {}

    def check_unchanged(self) -> None:
        """Raise DMLError if a file that contains constants has changed; called before a graph is built from their
        elements."""
        for file in self._files:
            check_unchanged(file)

    def derived(
        self, array: npt.NDArray[Any], how: Hashable, make: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """Return ``make(array)``. For one of these constants, the result has its name and is cached by ``how``."""
        data = bytes_under(array)
        if data is None or id(data) not in self._nodes:
            return make(array)
        key = id(data), how
        if key not in self._derived:
            result = np.ascontiguousarray(make(array))
            view = result.reshape(-1).view(np.uint8).data.toreadonly()
            self._nodes[id(view)] = DML_CONSTANT_DATA_GRAPH_NODE_DESC(view, Name=self._nodes[id(data)].Name)
            self._derived[key] = np.frombuffer(view, result.dtype).reshape(result.shape)
        return self._derived[key]

    def node(self, data: Stored) -> DML_CONSTANT_DATA_GRAPH_NODE_DESC:
        return self._nodes.get(id(data)) or DML_CONSTANT_DATA_GRAPH_NODE_DESC(data)

    def has(self, data: Stored) -> bool:
        return id(data) in self._nodes


def bytes_under(array: npt.NDArray[Any]) -> Stored | None:
    """Return the bytes, of an object or a file, that an array views whole and in row-major order; else None."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if type(base) is not bytes and not (type(base) is memoryview and base.readonly):
        return None
    return base if len(base) == array.nbytes and array.flags.c_contiguous else None


def tensor_bytes(value: npt.NDArray[Any], desc: DML_BUFFER_TENSOR_DESC) -> Stored:
    """Return the array's bytes in the tensor's layout: two 4-bit elements per byte, zero-padded to the tensor's
    size."""
    if desc.DataType in (enums.DML_TENSOR_DATA_TYPE_INT4, enums.DML_TENSOR_DATA_TYPE_UINT4):
        flat = np.ravel(value).astype(np.int8).view(np.uint8) & 15
        flat = np.pad(flat, (0, flat.size % 2))
        data = (flat[0::2] | flat[1::2] << 4).tobytes()
    elif (whole := bytes_under(value)) is not None:
        return whole
    else:
        data = value.tobytes()
    return data.ljust(desc.TotalTensorSizeInBytes, b"\0")
