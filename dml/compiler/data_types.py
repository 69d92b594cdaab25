"""The tensor data types as kernels see them: one row each, and properties derived from it.

A kernel reads and writes 32-bit words. It computes with float, int, uint or, for 64-bit types, uvec2 (low word first),
whichever holds every value of the data type. A new data type needs a row here, its NumPy dtype and size in
``dml.tensors``, and its operators in the capability table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np

from dml import enums
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError
from dml.tensors import UINT2, element_bits, numpy_dtype

#: Bits of a uvec4, the unit that kernels move, and of a word, the unit of their buffers.
VECTOR_BITS, WORD_BITS = 128, 32


@dataclass(frozen=True)
class DataType:
    """A data type's layout in 32-bit words, the type that kernels compute with, and its precision.

    glsl: the type of its values in a kernel. kind: the kind of these values: float, int, uint, int64, uint64 or
    float64. decode: GLSL for the value of ``bits``, a word whose low bits are an element and whose other bits are
    arbitrary; encode: GLSL for the bits of an element with the value ``v``, other bits zero. Both are empty for 64-bit
    types, whose values are their bits. rounded: GLSL for the nearest value to ``$x0`` that an element can hold (see
    dml.compiler.scalar); empty if elements hold every value, or wrap.
    """

    data_type: DML_TENSOR_DATA_TYPE
    glsl: str
    kind: str
    decode: str = ""
    encode: str = ""
    rounded: str = ""

    @cached_property
    def bits(self) -> int:
        """Bits of an element."""
        return element_bits(self.data_type)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return numpy_dtype(self.data_type)

    @property
    def per_word(self) -> int:
        """Elements that begin in a word: 1 for elements of at least a word."""
        return max(1, WORD_BITS // self.bits)

    @property
    def per_vector(self) -> int:
        """Elements of a uvec4."""
        return VECTOR_BITS // self.bits

    @property
    def is_atomic(self) -> bool:
        """Whether storing one element needs an atomic on its word, which other elements share."""
        return self.bits < WORD_BITS

    @property
    def is_floating(self) -> bool:
        return self.kind in ("float", "float64")

    @cached_property
    def lowest(self) -> int | float:
        """Its least finite number."""
        return float(ml_dtypes.finfo(self.dtype).min) if self.is_floating else int(ml_dtypes.iinfo(self.dtype).min)

    @cached_property
    def highest(self) -> int | float:
        """Its greatest finite number."""
        return float(ml_dtypes.finfo(self.dtype).max) if self.is_floating else int(ml_dtypes.iinfo(self.dtype).max)

    @cached_property
    def significand(self) -> int:
        """The number of bits up to which it represents every integer exactly."""
        if self.is_floating:
            return int(ml_dtypes.finfo(self.dtype).nmant) + 1
        return int(self.highest).bit_length()

    @property
    def rounds(self) -> bool:
        """Whether storing a value may round it: a float in a narrower float type. (Integers wrap instead.)"""
        return bool(self.rounded)

    @property
    def wraps(self) -> bool:
        """Whether storing a value may drop high bits: an integer in a type narrower than a word."""
        return self.bits < WORD_BITS and not self.is_floating

    @cached_property
    def has_exact_squares(self) -> bool:
        """Whether float32 holds every element's square exactly, and the sum of 2^32 squares without overflow.

        It does for FLOAT16: 22 bits, from 2^-48 to 2^32.
        """
        if not self.is_floating:
            return False
        smallest = float(ml_dtypes.finfo(self.dtype).smallest_subnormal)
        return (
            2 * self.significand <= FLOAT32.significand
            and smallest**2 >= float(ml_dtypes.finfo(np.float32).smallest_normal)
            and self.highest**2 * 2**32 <= FLOAT32.highest
        )


class _DataTypes(dict[DML_TENSOR_DATA_TYPE, DataType]):
    """Rows by data type. Raises DMLError for one without a row."""

    def __missing__(self, data_type: DML_TENSOR_DATA_TYPE) -> DataType:
        raise DMLError(f"no kernel computes with tensor data type {data_type!r}", HRESULT.E_INVALIDARG)


_ROWS = (
    DataType(enums.DML_TENSOR_DATA_TYPE_FLOAT32, "float", "float", "uintBitsToFloat(bits)", "floatBitsToUint(v)"),
    DataType(
        enums.DML_TENSOR_DATA_TYPE_FLOAT16,
        "float",
        "float",
        "half_decode(bits & 0xffffu)",
        "half_encode(v)",
        "half_rounded($x0)",
    ),
    DataType(enums.DML_TENSOR_DATA_TYPE_UINT32, "uint", "uint", "uint(bits)", "uint(v)"),
    DataType(enums.DML_TENSOR_DATA_TYPE_UINT16, "uint", "uint", "bits & 65535u", "uint(v) & 65535u"),
    DataType(enums.DML_TENSOR_DATA_TYPE_UINT8, "uint", "uint", "bits & 255u", "uint(v) & 255u"),
    DataType(enums.DML_TENSOR_DATA_TYPE_UINT4, "uint", "uint", "bits & 15u", "uint(v) & 15u"),
    DataType(UINT2, "uint", "uint", "bits & 3u", "uint(v) & 3u"),
    DataType(enums.DML_TENSOR_DATA_TYPE_INT32, "int", "int", "int(bits)", "uint(v)"),
    DataType(enums.DML_TENSOR_DATA_TYPE_INT16, "int", "int", "bitfieldExtract(int(bits), 0, 16)", "uint(v) & 65535u"),
    DataType(enums.DML_TENSOR_DATA_TYPE_INT8, "int", "int", "bitfieldExtract(int(bits), 0, 8)", "uint(v) & 255u"),
    DataType(enums.DML_TENSOR_DATA_TYPE_INT4, "int", "int", "bitfieldExtract(int(bits), 0, 4)", "uint(v) & 15u"),
    DataType(enums.DML_TENSOR_DATA_TYPE_FLOAT64, "uvec2", "float64"),
    DataType(enums.DML_TENSOR_DATA_TYPE_UINT64, "uvec2", "uint64"),
    DataType(enums.DML_TENSOR_DATA_TYPE_INT64, "uvec2", "int64"),
)

#: Rows by data type: ``DATA_TYPES[operand.data_type].bits``. Raises DMLError for one without elements.
DATA_TYPES = _DataTypes({row.data_type: row for row in _ROWS})

FLOAT32 = DATA_TYPES[enums.DML_TENSOR_DATA_TYPE_FLOAT32]

#: Number of element bits -> the unsigned data type.
UNSIGNED = {row.bits: row.data_type for row in _ROWS if row.kind in ("uint", "uint64")}
