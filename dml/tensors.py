"""Tensor descriptions, the small structures that operators hold, and the arithmetic of memory layouts.

Sizes and strides count elements and go from the slowest dimension to the fastest ({N, C, H, W}). Nothing here judges
whether a tensor is acceptable; the validator does. Output sizes of operators are in `shapes`. References:
dml_buffer_tensor_desc, dml-strides, dml-helper-functions, dml_scalar_union.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, SupportsIndex, cast, overload

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .arguments import checked, is_number
from .enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS, DML_TENSOR_TYPE
from .enums.naming import did_you_mean, short_name
from .enums.own import OWN_TENSOR_DATA_TYPE
from .errors import DMLError
from .structures import Derived, derive_count, enumerator, integer, integers, not_converted, structure

_T = DML_TENSOR_DATA_TYPE
#: Four elements per byte. Only DEQUANTIZE takes it.
UINT2 = cast(_T, OWN_TENSOR_DATA_TYPE.OWN_TENSOR_DATA_TYPE_UINT2)

#: Bits per element in a buffer and NumPy type of every data type that has elements.
_ELEMENTS: dict[DML_TENSOR_DATA_TYPE, tuple[int, type[Any]]] = {
    _T.DML_TENSOR_DATA_TYPE_FLOAT64: (64, np.float64),
    _T.DML_TENSOR_DATA_TYPE_FLOAT32: (32, np.float32),
    _T.DML_TENSOR_DATA_TYPE_FLOAT16: (16, np.float16),
    _T.DML_TENSOR_DATA_TYPE_UINT64: (64, np.uint64),
    _T.DML_TENSOR_DATA_TYPE_UINT32: (32, np.uint32),
    _T.DML_TENSOR_DATA_TYPE_UINT16: (16, np.uint16),
    _T.DML_TENSOR_DATA_TYPE_UINT8: (8, np.uint8),
    _T.DML_TENSOR_DATA_TYPE_UINT4: (4, ml_dtypes.uint4),
    _T.DML_TENSOR_DATA_TYPE_INT64: (64, np.int64),
    _T.DML_TENSOR_DATA_TYPE_INT32: (32, np.int32),
    _T.DML_TENSOR_DATA_TYPE_INT16: (16, np.int16),
    _T.DML_TENSOR_DATA_TYPE_INT8: (8, np.int8),
    _T.DML_TENSOR_DATA_TYPE_INT4: (4, ml_dtypes.int4),
    UINT2: (2, ml_dtypes.uint2),
}
#: Element size in bits of every data type that has elements.
ELEMENT_BITS: dict[DML_TENSOR_DATA_TYPE, int] = {data_type: bits for data_type, (bits, _) in _ELEMENTS.items()}

_NUMPY: dict[DML_TENSOR_DATA_TYPE, np.dtype[Any]] = {
    data_type: np.dtype(kind) for data_type, (_, kind) in _ELEMENTS.items()
}
_DATA_TYPE = {dtype: data_type for data_type, dtype in _NUMPY.items() if data_type is not UINT2}


@checked
def numpy_dtype(data_type: DML_TENSOR_DATA_TYPE | OWN_TENSOR_DATA_TYPE) -> np.dtype[Any]:
    """Return the NumPy dtype of a tensor data type; ml_dtypes' for 2 and 4 bits (one element per byte in memory)."""
    try:
        return _NUMPY[cast(_T, data_type)]
    except KeyError:
        raise DMLError(f"no NumPy dtype for tensor data type {data_type!r}") from None


def data_type_of(dtype: npt.DTypeLike) -> DML_TENSOR_DATA_TYPE:
    """Return the tensor data type of a NumPy dtype in native byte order. Booleans are UINT8, as in ONNX tensors."""
    try:
        resolved = np.dtype(dtype)
    except (TypeError, ValueError):
        raise DMLError(f"not a NumPy dtype: {dtype!r}") from None
    if resolved == np.bool_:
        return _T.DML_TENSOR_DATA_TYPE_UINT8
    try:
        return _DATA_TYPE[resolved]
    except KeyError:
        raise DMLError(f"no tensor data type for NumPy dtype {resolved}") from None


def as_element(where: str, value: float, data_type: DML_TENSOR_DATA_TYPE) -> npt.NDArray[Any]:
    """Convert a number to a tensor's element; a float too large becomes infinite. where: start of the DMLError for a
    number that the data type cannot hold."""
    dtype = numpy_dtype(data_type)
    integral = dtype.kind not in "fc"
    if integral and (not math.isfinite(value) or value != int(value)):
        raise DMLError(f"{where}: must be an integer, like the tensor's elements, found {value}")
    try:
        with np.errstate(over="ignore"):
            return np.array(int(value) if integral else value, dtype)
    except (OverflowError, ValueError):
        raise DMLError(f"{where}: {value} is outside the range of {data_type.name}") from None


@checked
def nearest_float(value: float, dtype: type[np.floating[Any]] = np.float32) -> float:
    """Round to FLOAT, or another floating-point type; infinite beyond the type's range."""
    with np.errstate(over="ignore"):
        return float(dtype(value))


@checked
def element_bits(data_type: DML_TENSOR_DATA_TYPE | OWN_TENSOR_DATA_TYPE) -> int:
    """Return the bits of one element in a buffer: 2 to 64."""
    try:
        return ELEMENT_BITS[cast(_T, data_type)]
    except (KeyError, TypeError):
        raise DMLError(f"tensor data type {data_type!r} has no element size") from None


@checked
def packed_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a tensor without gaps: the last dimension has stride 1."""
    return _packed_strides(sizes)


def _packed_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return tuple(strides)


@checked
def ordered_strides(sizes: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a tensor without gaps whose dimensions lie in memory in `order`, slowest first."""
    if sorted(order) != list(range(len(sizes))):
        raise DMLError(f"order {tuple(order)} is not a permutation of the {len(sizes)} dimensions")
    strides = [0] * len(sizes)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= sizes[axis]
    return tuple(strides)


@checked
def nhwc_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return channels-last strides for sizes given as {N, C, spatial...}; any rank of at least 2."""
    if len(sizes) < 2:
        raise DMLError(f"a channels-last layout needs at least the dimensions N and C, found sizes {tuple(sizes)}")
    return ordered_strides(sizes, (0, *range(2, len(sizes)), 1))


@checked
def broadcast_strides(sizes: Sequence[int], to: Sequence[int], strides: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return strides that broadcast a tensor of `sizes` (and `strides`; None if packed) to the sizes `to`.

    Dimensions are aligned at the right as in NumPy; a dimension of size 1 or missing from `sizes` gets stride 0 if `to`
    is larger. Raises DMLError if the sizes do not broadcast.
    """
    own = packed_strides(sizes) if strides is None else tuple(strides)
    if len(own) != len(sizes):
        raise DMLError(f"{len(own)} strides for {len(sizes)} sizes")
    missing = len(to) - len(sizes)
    if missing < 0:
        raise DMLError(f"sizes {tuple(sizes)} do not broadcast to {tuple(to)}")
    result = [0] * missing
    for size, stride, target in zip(sizes, own, to[missing:], strict=True):
        if size == target:
            result.append(stride)
        elif size == 1:
            result.append(0)
        else:
            raise DMLError(f"sizes {tuple(sizes)} do not broadcast to {tuple(to)}")
    return tuple(result)


@checked
def calc_buffer_tensor_size(
    data_type: DML_TENSOR_DATA_TYPE | OWN_TENSOR_DATA_TYPE, sizes: Sequence[int], strides: Sequence[int] | None = None
) -> int:
    """Return the smallest buffer size for a tensor, in bytes, a multiple of 4 (DMLCalcBufferTensorSize).

    The index after the last element's, times the element size; smaller elements share bytes.
    """
    if strides is not None and len(strides) != len(sizes):
        raise DMLError(f"{len(strides)} strides for {len(sizes)} sizes")
    return _size_in_bytes(element_bits(data_type), sizes, strides)


def spanned_elements(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Return the index after the last element's."""
    return sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1


def _size_in_bytes(bits: int, sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    elements = prod(sizes) if strides is None else spanned_elements(sizes, strides)
    return (elements * bits + 31) // 32 * 4


_directml_type = enumerator(DML_TENSOR_DATA_TYPE)
_flags = enumerator(DML_TENSOR_FLAGS)


def _data_type(value: Any) -> DML_TENSOR_DATA_TYPE:
    return cast(_T, value) if type(value) is OWN_TENSOR_DATA_TYPE else _directml_type(value)


#: For each field: its converter, and a description of the accepted type for messages.
_FIELDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "DataType": (_data_type, "a DML_TENSOR_DATA_TYPE"),
    "Flags": (_flags, "DML_TENSOR_FLAGS"),
    "Sizes": (integers, "a sequence of integers"),
    "Strides": (integers, "a sequence of integers"),
    "TotalTensorSizeInBytes": (integer, "an integer"),
    "GuaranteedBaseOffsetAlignment": (integer, "an integer"),
}
_ENUMERATIONS = {"DataType": DML_TENSOR_DATA_TYPE, "Flags": DML_TENSOR_FLAGS}


@structure(
    "DataType", "Flags", "DimensionCount", "Sizes", "Strides", "TotalTensorSizeInBytes",
    "GuaranteedBaseOffsetAlignment", converted=(*_FIELDS, "DimensionCount"),
)  # fmt: skip
@dataclass(frozen=True, repr=False)
class DML_BUFFER_TENSOR_DESC:
    """A tensor in a buffer.

    DataType, Flags: an enumerator, its number or its name ("FLOAT32"). Sizes, Strides: sequences of one number per
    dimension, stored as tuples; Strides None means packed. TotalTensorSizeInBytes: computed with
    `calc_buffer_tensor_size` if None. DimensionCount: derived from Sizes; a given one must agree. By position in this
    order, (DataType, Sizes, Strides, ...), or in C's, (DataType, Flags, DimensionCount, Sizes, Strides, ...).
    Reference: dml_buffer_tensor_desc.
    """

    DataType: DML_TENSOR_DATA_TYPE
    Sizes: tuple[int, ...]
    Strides: tuple[int, ...] | None = None
    TotalTensorSizeInBytes: int = None  # type: ignore[assignment]  # derived in __post_init__
    GuaranteedBaseOffsetAlignment: int = 0
    Flags: DML_TENSOR_FLAGS = DML_TENSOR_FLAGS.DML_TENSOR_FLAG_NONE
    DimensionCount: int = None  # type: ignore[assignment]  # derived in __post_init__

    if TYPE_CHECKING:  # the constructor accepts more types than the fields hold

        @overload
        def __init__(
            self,
            DataType: DML_TENSOR_DATA_TYPE | str | int,
            Sizes: Iterable[SupportsIndex],
            Strides: Iterable[SupportsIndex] | None = ...,
            TotalTensorSizeInBytes: SupportsIndex | None = ...,
            GuaranteedBaseOffsetAlignment: SupportsIndex = ...,
            Flags: DML_TENSOR_FLAGS | str | int = ...,
            DimensionCount: SupportsIndex | None = ...,
        ) -> None: ...

        @overload
        def __init__(
            self,
            DataType: DML_TENSOR_DATA_TYPE | str | int,
            Flags: DML_TENSOR_FLAGS | str | int,
            DimensionCount: SupportsIndex | None,
            Sizes: Iterable[SupportsIndex],
            Strides: Iterable[SupportsIndex] | None = ...,
            TotalTensorSizeInBytes: SupportsIndex | None = ...,
            GuaranteedBaseOffsetAlignment: SupportsIndex = ...,
        ) -> None: ...

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __post_init__(self) -> None:
        if type(self.TotalTensorSizeInBytes) is Derived:
            object.__setattr__(self, "TotalTensorSizeInBytes", None)
        for name, (converter, wanted) in _FIELDS.items():
            value = getattr(self, name)
            if value is not None or name not in ("Strides", "TotalTensorSizeInBytes"):
                try:
                    converted = converter(value)
                except (TypeError, ValueError, OverflowError):
                    kind = _ENUMERATIONS.get(name)
                    raise not_converted(f"DML_BUFFER_TENSOR_DESC.{name}", value, wanted, kind) from None
                if converted is not value:
                    object.__setattr__(self, name, converted)
        derive_count(self, "DimensionCount", len(self.Sizes), "Sizes")
        total: int | None = self.TotalTensorSizeInBytes
        if total is None:
            size = self._implied_size()
            object.__setattr__(self, "TotalTensorSizeInBytes", Derived(size) if type(size) is int else size)

    def __repr__(self) -> str:
        return f"DML_BUFFER_TENSOR_DESC{self.in_words}"

    @property
    def in_words(self) -> str:
        """Return (FLOAT32, (1, 3, 5, 5)) and every field that is not the default."""
        more = [f", {name}={value}" for name, value in self._given().items()]
        return f"({short_name(self.DataType)}, {self.Sizes}{''.join(more)})"

    def _given(self) -> dict[str, object]:
        """Return the optional fields that are not the default."""
        given: dict[str, object] = {} if self.Strides is None else {"Strides": self.Strides}
        if self.TotalTensorSizeInBytes != self._implied_size():
            given["TotalTensorSizeInBytes"] = self.TotalTensorSizeInBytes
        if self.GuaranteedBaseOffsetAlignment:
            given["GuaranteedBaseOffsetAlignment"] = self.GuaranteedBaseOffsetAlignment
        if self.Flags:
            given["Flags"] = short_name(self.Flags)
        return given

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Cached: graph compilation looks descriptions up often."""
        return hash((self.DataType, self.Sizes, self.Strides, self.TotalTensorSizeInBytes, self.Flags))

    def _implied_size(self) -> int:
        """Return the computed size, or 0 for a description that the validator will refuse."""
        if self.DataType not in ELEMENT_BITS or not self.Sizes:
            return 0
        if self.Strides is not None and len(self.Strides) != len(self.Sizes):
            return 0
        return _size_in_bytes(ELEMENT_BITS[self.DataType], self.Sizes, self.Strides)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.Sizes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Strides in elements; packed if none were given."""
        return _packed_strides(self.Sizes) if self.Strides is None else self.Strides

    @cached_property
    def element_count(self) -> int:
        """Number of logical elements; broadcast ones count as often as they are read."""
        return prod(self.Sizes)

    @cached_property
    def is_packed(self) -> bool:
        """Whether the elements are in row-major order without gaps (dimensions of size 1 may have any stride)."""
        return self.Strides is None or all(
            size == 1 or stride == packed
            for size, stride, packed in zip(self.Sizes, self.Strides, _packed_strides(self.Sizes), strict=True)
        )

    @cached_property
    def owned_by_dml(self) -> bool:
        """Whether the tensor is bound at initialization and then kept in the persistent resource."""
        return bool(self.Flags & DML_TENSOR_FLAGS.DML_TENSOR_FLAG_OWNED_BY_DML)

    @property
    def element_bits(self) -> int:
        """Bits of one element: 2 to 64."""
        return element_bits(self.DataType)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return numpy_dtype(self.DataType)


@lru_cache(maxsize=8192)
def packed_tensor(data_type: DML_TENSOR_DATA_TYPE, sizes: tuple[int, ...]) -> DML_BUFFER_TENSOR_DESC:
    """Return the description of a tensor without gaps; equal arguments give the same object, since models repeat
    them."""
    return DML_BUFFER_TENSOR_DESC(data_type, sizes)


@structure(converted=("Type",))
@dataclass(frozen=True)
class DML_TENSOR_DESC:
    """A tensor description with its type; accepted wherever a DML_BUFFER_TENSOR_DESC is.

    Reference: dml_tensor_desc.
    """

    Type: DML_TENSOR_TYPE
    Desc: DML_BUFFER_TENSOR_DESC

    def __post_init__(self) -> None:
        if not is_number(self.Type, DML_TENSOR_TYPE.DML_TENSOR_TYPE_BUFFER):
            raise DMLError(f"DML_TENSOR_DESC.Type: must be DML_TENSOR_TYPE_BUFFER, found {self.Type!r}")


@structure()
@dataclass(frozen=True)
class DML_SCALE_BIAS:
    """x * Scale + Bias, applied to an element-wise operator's input before its function. Reference: dml_scale_bias."""

    Scale: float
    Bias: float


@structure()
@dataclass(frozen=True)
class DML_SIZE_2D:
    """A width and a height, in elements. Reference: dml_size_2d."""

    Width: int
    Height: int


_UNION_FORMATS = {
    "Int8": "<b", "UInt8": "<B", "Int16": "<h", "UInt16": "<H", "Int32": "<i", "UInt32": "<I",
    "Int64": "<q", "UInt64": "<Q", "Float32": "<f", "Float64": "<d",
}  # fmt: skip


@dataclass(frozen=True, init=False)
class DML_SCALAR_UNION:
    """Eight bytes that can be read as a number of any data type, little-endian.

    One member is given by name, `DML_SCALAR_UNION(Float32=1.5)`, and fills the leading bytes; the others are zero.
    Every member can be read afterwards. FLOAT16 has no member: its bits go through UInt16. Unions are equal if their
    bytes are. Reference: dml_scalar_union.
    """

    Bytes: bytes

    def __init__(self, **member: Any) -> None:
        if len(member) != 1:
            raise DMLError(f"DML_SCALAR_UNION: exactly one member is given, found {sorted(member) or 'none'}")
        name, value = next(iter(member.items()))
        object.__setattr__(self, "Bytes", self._pack(name, value).ljust(8, b"\0"))

    @staticmethod
    def _pack(name: str, value: Any) -> bytes:
        if name == "Bytes":
            try:
                data = bytes(value) if not isinstance(value, int) else None
            except (TypeError, ValueError):
                data = None
            if data is None or len(data) > 8:
                raise DMLError(f"DML_SCALAR_UNION.Bytes: at most eight bytes, found {value!r}")
            return data
        if name not in _UNION_FORMATS:
            raise DMLError(f"DML_SCALAR_UNION: has no member {name}{did_you_mean(name, _UNION_FORMATS)}")
        try:
            return struct.pack(_UNION_FORMATS[name], value)
        except (struct.error, OverflowError, TypeError, ValueError):
            raise DMLError(f"DML_SCALAR_UNION.{name}: the value does not fit the member, found {value!r}") from None

    def __getattr__(self, name: str) -> int | float:
        if name not in _UNION_FORMATS:
            raise AttributeError(name)
        return cast("int | float", struct.unpack_from(_UNION_FORMATS[name], self.Bytes)[0])

    @checked
    def value(self, data_type: DML_TENSOR_DATA_TYPE) -> int | float:
        """Return the leading bytes as a number of `data_type`; 4-bit types take the low half of the first byte."""
        if data_type == _T.DML_TENSOR_DATA_TYPE_UINT4:
            return self.Bytes[0] & 15
        if data_type == _T.DML_TENSOR_DATA_TYPE_INT4:
            return ((self.Bytes[0] & 15) ^ 8) - 8
        if data_type not in _NUMPY:
            raise DMLError(f"DML_SCALAR_UNION has no value of tensor data type {data_type!r}")
        little_endian = _NUMPY[data_type].newbyteorder("<")
        return cast("int | float", np.frombuffer(self.Bytes, little_endian, count=1)[0].item())

    def __repr__(self) -> str:
        return f"DML_SCALAR_UNION(Bytes=bytes.fromhex({self.Bytes.hex()!r}))"


__all__ = [
    "DML_BUFFER_TENSOR_DESC", "DML_SCALAR_UNION", "DML_SCALE_BIAS", "DML_SIZE_2D", "DML_TENSOR_DESC",
    "broadcast_strides", "calc_buffer_tensor_size", "data_type_of", "element_bits", "nhwc_strides", "numpy_dtype",
    "ordered_strides", "packed_strides",
]  # fmt: skip
