"""Buffers of a model, and the formats of their initial values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from dml.api.arrays import Array
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError
from dml.frontends.dxdispatch import images
from dml.frontends.dxdispatch.document import Json, placed
from dml.frontends.dxdispatch.files import Folder
from dml.frontends.dxdispatch.operators import data_type, scalars
from dml.tensors import data_type_of, element_bits, numpy_dtype

UNKNOWN = DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UNKNOWN
#: The largest buffer of a Vulkan device: a buffer's range has 32 bits.
LARGEST = 1 << 32


@dataclass(frozen=True)
class Resource:
    """A buffer of ``size`` bytes. Bytes ``start`` to ``used`` have initial values, the others are zero.

    values: returns the initial values; large ones are only generated when the buffer has been allocated. data_type: the
    values' type, UNKNOWN for values of mixed types. deferred: the buffer is created by the ONNX model that writes to
    it, with the size of the result, and has no initial values.
    """

    name: str
    size: int
    start: int
    used: int
    data_type: DML_TENSOR_DATA_TYPE
    values: Callable[[], Array] = lambda: np.zeros(0, np.uint8)
    deferred: bool = False

    @property
    def element_size(self) -> int:
        """Bytes of an element; 0 if the type is unknown."""
        return 0 if self.data_type == UNKNOWN else element_bits(self.data_type) // 8


def _dtype(kind: DML_TENSOR_DATA_TYPE, where: Json) -> np.dtype[Any]:
    if kind == UNKNOWN:
        where.fail("needs a data type in 'initialValuesDataType'")
    if element_bits(kind) < 8:
        where.fail(f"values of {kind.name} cannot be written here")
    return numpy_dtype(kind)


def _count(values: Json, dtype: np.dtype[Any]) -> int:
    field = values.need("valueCount")
    count = field.unsigned()
    if count == 0:
        field.fail("must be larger than 0")
    if count * dtype.itemsize > LARGEST:
        raise placed(field.path, f"{count} values of {dtype} exceed the largest buffer", HRESULT.E_OUTOFMEMORY)
    return count


def _mixed(values: Json) -> bytes:
    parts = []
    for item in values.items():
        kind = data_type(item.need("type"))
        dtype = _dtype(kind, item.need("type"))
        parts.append(scalars([item.need("value")], dtype).tobytes())
    return b"".join(parts)


def _generated(values: Json, kind: DML_TENSOR_DATA_TYPE) -> tuple[int, Callable[[], Array]]:
    """Return the number of bytes of the values, and a function that returns the values."""
    dtype = _dtype(kind, values)
    count = _count(values, dtype)
    constant = values.get("value")
    if constant is not None:
        (value,) = scalars([constant], dtype)
        return count * dtype.itemsize, lambda: np.full(count, value, dtype)
    start, delta = scalars([values.need("valueStart"), values.need("valueDelta")], dtype)

    def sequence() -> Array:
        steps = np.full(count, delta, dtype)
        steps[0] = start
        # sequential sums: each value is the previous one plus delta, in the type's own arithmetic
        with np.errstate(all="ignore"):
            return np.cumsum(steps, dtype=dtype, out=steps)

    return count * dtype.itemsize, sequence


def _file(
    values: Json, kind: DML_TENSOR_DATA_TYPE, folder: Folder, resample: tuple[int, ...]
) -> tuple[bytes, DML_TENSOR_DATA_TYPE]:
    source = values.need("sourcePath")
    text = source.string()
    suffix = PurePath(text).suffix.lower()
    try:
        if suffix in images.SUFFIXES:
            return images.read(folder.read(text), resample, _dtype(kind, values)).tobytes(), kind
        if suffix != ".npy":
            _dtype(kind, values)
            return folder.read(text), kind
        array = folder.read_array(text)
        found = data_type_of(array.dtype)
    except DMLError as error:
        source.fail(error.message)
    if kind not in (UNKNOWN, found):
        source.fail(f"the file's data type is {found.name}, 'initialValuesDataType' says {kind.name}")
    return array.tobytes(), found


def _resampled(value: Json) -> tuple[int, ...]:
    """Return the sizes to which an image is scaled."""
    sizes, mode = value.get("resampleSize"), value.get("resampleMode")
    if mode is not None and mode.string() != "scale":
        mode.fail(f"must be 'scale', found {mode.string()!r}")
    found = sizes.unsigned_array() if sizes is not None else ()
    if math.prod(found) * 4 > LARGEST:
        value.fail(f"resampleSize {list(found)}: exceeds the largest buffer")
    return found


def resource(name: str, value: Json, folder: Folder) -> Resource:
    """Read a member of ``resources``. Raises DMLError, with the location in the file, if it is invalid."""
    given = value.get("initialValuesDataType")
    kind = data_type(given) if given is not None else UNKNOWN
    values = value.need("initialValues")
    if values.is_string:
        if values.string() != "deferred":
            values.fail(f"must be 'deferred', an array or an object, found {values.string()!r}")
        _dtype(kind, values)
        return Resource(name, 0, 0, 0, kind, deferred=True)
    if values.is_array and kind == UNKNOWN:
        data = _mixed(values)
    elif values.is_array:
        data = scalars(values.items(), _dtype(kind, values)).tobytes()
    else:
        forms = [form for form in ("value", "valueStart", "sourcePath") if values.get(form) is not None]
        if len(forms) != 1:
            values.fail("must be an array, or an object with one of 'value', 'valueStart' and 'sourcePath'")
        if forms[0] != "sourcePath":
            return _placed(name, value, *_generated(values, kind), kind)
        data, kind = _file(values, kind, folder, _resampled(value))
    if not data:
        values.fail("must not be empty")
    return _placed(name, value, len(data), lambda: np.frombuffer(data, np.uint8), kind)


def _placed(name: str, value: Json, count: int, values: Callable[[], Array], kind: DML_TENSOR_DATA_TYPE) -> Resource:
    """Return the resource with ``count`` bytes of values at the offset in the file."""
    size_field = value.get("sizeInBytes")
    offset = value.unsigned_member("initialValuesOffsetInBytes", bits=64)
    used = offset + count
    size = size_field.unsigned(64) if size_field is not None else used
    if used > size:
        value.fail(f"its sizeInBytes of {size} does not hold {count} bytes of values at byte {offset}")
    if size > LARGEST:
        raise placed(value.path, f"{size} bytes exceed the largest buffer", HRESULT.E_OUTOFMEMORY)
    return Resource(name, -(-size // 4) * 4, offset, used, kind, values)
