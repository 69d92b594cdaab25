"""Operands: a data type and a shape under the specification's names, and the limits of shapes.

A shape without dimensions is a scalar; its DirectML tensor has one dimension of size 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dml import enums
from dml.arguments import checked
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.graph.builder import Tensor
from dml.tensors import numpy_dtype

if TYPE_CHECKING:
    from dml.frontends.webnn.steps import OperationBuilder

#: MLOperandDataType -> DirectML's type. The specification lacks the last two; Chromium and DirectML use them for
#: quantization.
DATA_TYPES: dict[str, DML_TENSOR_DATA_TYPE] = {
    "float32": enums.DML_TENSOR_DATA_TYPE_FLOAT32,
    "float16": enums.DML_TENSOR_DATA_TYPE_FLOAT16,
    "int32": enums.DML_TENSOR_DATA_TYPE_INT32,
    "uint32": enums.DML_TENSOR_DATA_TYPE_UINT32,
    "int64": enums.DML_TENSOR_DATA_TYPE_INT64,
    "uint64": enums.DML_TENSOR_DATA_TYPE_UINT64,
    "int8": enums.DML_TENSOR_DATA_TYPE_INT8,
    "uint8": enums.DML_TENSOR_DATA_TYPE_UINT8,
    "int4": enums.DML_TENSOR_DATA_TYPE_INT4,
    "uint4": enums.DML_TENSOR_DATA_TYPE_UINT4,
}
FOUR_BITS = ("int4", "uint4")
#: The largest dimension and the largest number of elements: the maximum of `unsigned long`.
LARGEST_DIMENSION = 2**32 - 1
#: MLOpSupportLimits.maxTensorByteLength.
LARGEST_TENSOR = 2**31 - 1
#: The largest rank of DirectML's tensors.
LARGEST_RANK = 8


def is_dimension(size: int) -> bool:
    """Return whether a number is a valid size of a dimension."""
    return 0 < size <= LARGEST_DIMENSION


@dataclass(frozen=True, init=False)
class MLOperandDescriptor:
    """A data type and a shape: MLOperandDescriptor("float32", (2, 3)). They are checked when the descriptor is used."""

    data_type: str
    shape: tuple[int, ...]

    @checked
    def __init__(self, data_type: str, shape: Sequence[int] = ()) -> None:
        object.__setattr__(self, "data_type", data_type)
        object.__setattr__(self, "shape", tuple(shape))

    @property
    def byte_length(self) -> int:
        """Bytes of all elements, without padding."""
        if self.data_type in FOUR_BITS:
            return -(-self.element_count // 2)
        return self.element_count * int(np.dtype(self.numpy_dtype).itemsize)

    @property
    def element_count(self) -> int:
        return math.prod(self.shape)

    @property
    def dml_type(self) -> DML_TENSOR_DATA_TYPE:
        return DATA_TYPES[self.data_type]

    @property
    def numpy_dtype(self) -> Any:
        return numpy_dtype(self.dml_type)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape of the DirectML tensor: at least one dimension."""
        return self.shape or (1,)

    def fault(self) -> str | None:
        """Return the reason why the specification's "check dimensions" fails; None if it passes."""
        if self.data_type not in DATA_TYPES:
            return f"data_type must be one of {', '.join(DATA_TYPES)}, found {self.data_type!r}"
        if not all(is_dimension(size) for size in self.shape):
            return f"each size of a shape must be from 1 to {LARGEST_DIMENSION}, found {self.shape}"
        if len(self.shape) > LARGEST_RANK:
            return f"a shape has at most {LARGEST_RANK} dimensions, found {len(self.shape)}"
        if not is_dimension(self.element_count) or self.byte_length > LARGEST_TENSOR:
            return f"a tensor has at most {LARGEST_TENSOR} bytes, {self.data_type} {self.shape} has more"
        return None


@dataclass(frozen=True, init=False)
class MLTensorDescriptor(MLOperandDescriptor):
    """An MLOperandDescriptor that also says whether the host may read and write the tensor."""

    readable: bool
    writable: bool

    @checked
    def __init__(
        self, data_type: str, shape: Sequence[int] = (), readable: bool = False, writable: bool = False
    ) -> None:
        super().__init__(data_type, shape)
        object.__setattr__(self, "readable", bool(readable))
        object.__setattr__(self, "writable", bool(writable))


#: Maps an operation's input tensors (None for an absent option) to its output tensors.
Lowering: TypeAlias = Callable[..., Tensor | Sequence[Tensor]]


@dataclass(frozen=True, eq=False)
class OperationRecord:
    """One operation of a graph under construction: its inputs, and the function that computes it by DirectML."""

    name: str
    inputs: tuple[MLOperand | None, ...]
    lower: Lowering


class MLOperand:
    """A value of a graph under construction: an input, a constant or an output of an operation."""

    def __init__(
        self,
        builder: OperationBuilder,
        descriptor: MLOperandDescriptor,
        made_by: OperationRecord | None = None,
        index: int = 0,
    ) -> None:
        self.builder = builder
        self.descriptor = descriptor
        #: The operation that has this operand as its output number ``index``; None for inputs and constants.
        self.made_by = made_by
        self.index = index

    @property
    def data_type(self) -> str:
        """The MLOperandDataType: "float32", ..."""
        return self.descriptor.data_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes; empty for a scalar."""
        return self.descriptor.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"MLOperand({self.data_type}, {self.shape})"


def require_valid(descriptor: MLOperandDescriptor, where: str) -> None:
    """Raise DMLError, starting with ``where``, for a descriptor of an invalid tensor."""
    fault = descriptor.fault()
    if fault is not None:
        raise DMLError(f"{where}: {fault}")
