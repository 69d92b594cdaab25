"""ONNX values during the trace, and the operations that all mappings share.

An ``OnnxValue`` is a constant (an array on the host), or a tensor of the graph being built. Its shape and dtype are
ONNX's: rank 0 stays rank 0 (a device tensor of sizes {1}), bool is UINT8 on the device, bfloat16 and float8 are
FLOAT32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml.descriptors.base import OperatorDesc
from dml.errors import HRESULT, DMLError
from dml.frontends.meaning.casts import as_type
from dml.graph.builder import Builder, Tensor
from dml.shapes import broadcast_sizes
from dml.tensors import packed_tensor
from dml.traced import whole

from ..dtypes import BOOL, INT64, STORED_AS_FLOAT32, Array, DType, storage
from .traced_arrays import TracedArray, as_traced_array, full, is_traced

#: Maximum elements of constants that the host computes; the device computes larger ones.
SMALL = 4096


def is_small(size: int) -> bool:
    return size <= SMALL


class OnnxValue:
    """A tensor of the model, with ONNX's shape and dtype."""

    def __init__(
        self,
        builder: Builder,
        shape: Sequence[int],
        dtype: DType,
        *,
        array: Array | None = None,
        tensor: Tensor | None = None,
        traced: TracedArray | None = None,
    ) -> None:
        self.builder = builder
        self.shape = tuple(map(whole, shape))
        self.dtype = np.dtype(dtype)
        self.array = array
        #: Graph tensor; None until a constant is used.
        self.graph_tensor = tensor
        #: The elements, if they depend on traced sizes.
        self.traced = traced

    @classmethod
    def again(
        cls, builder: Builder, shape: tuple[int, ...], dtype: DType, array: Array | None, tensor: Tensor | None
    ) -> OnnxValue:
        """Rebuild a value from known parts; through the constructor, planning takes an eighth longer."""
        value = object.__new__(cls)
        value.builder, value.shape, value.dtype, value.array, value.graph_tensor = builder, shape, dtype, array, tensor
        value.traced = None
        return value

    def __repr__(self) -> str:
        return f"OnnxValue({self.dtype}, {self.shape}{', constant' if self.array is not None else ''})"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_representable(self) -> bool:
        """Whether it is a constant or has a tensor; False for values whose type the device cannot hold."""
        return self.constant is not None or self.graph_tensor is not None

    @property
    def constant(self) -> Array | TracedArray | None:
        """Elements of a constant, else None."""
        return self.traced if self.array is None else self.array

    @property
    def tensor(self) -> Tensor:
        """The value's graph tensor; a constant becomes a constant node at its first use."""
        if self.graph_tensor is None:
            assert self.constant is not None
            if not self.size:
                raise DMLError("a tensor without elements cannot go to the device", HRESULT.DXGI_ERROR_UNSUPPORTED)
            if self.array is None or is_traced(self.array):
                storage(self.dtype)
                traced = as_traced_array(self.constant).like(_stored)
                self.graph_tensor = self.builder.constant_of_sizes(traced.shape, traced.now, traced.numbers, traced.at)
                return self.graph_tensor
            stored = _stored(self.array)
            storage(stored.dtype)
            self.graph_tensor = self.builder.constant(np.ascontiguousarray(stored))
        return self.graph_tensor

    @property
    def packed(self) -> Tensor:
        """The tensor with its elements in row-major order."""
        return self.tensor.packed()

    def with_tensor(self, tensor: Tensor, shape: Sequence[int] | None = None, dtype: DType | None = None) -> OnnxValue:
        """Return a value with this one's builder and, by default, its shape and dtype."""
        return OnnxValue(
            self.builder, self.shape if shape is None else shape, self.dtype if dtype is None else dtype, tensor=tensor
        )

    def filled(self, number: complex, shape: Sequence[int] = (), dtype: DType | None = None) -> OnnxValue:
        """Return a constant for the same builder, by default of this value's dtype."""
        return constant(self.builder, full(tuple(shape), number, dtype or self.dtype))

    # Element-wise operators, as in NumPy; a plain number takes the value's dtype.

    def _with(self, function: Operation, other: OnnxValue | float, dtype: DType | None = None) -> OnnxValue:
        return binary(function, self, other if isinstance(other, OnnxValue) else self.filled(other), dtype)

    def __add__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.add, other)

    def __sub__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.subtract, other)

    def __mul__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.multiply, other)

    def __truediv__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.divide, other)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.less_than, other, BOOL)

    def __gt__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.greater_than, other, BOOL)

    def __ge__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.greater_than_or_equal, other, BOOL)

    def __le__(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.less_than_or_equal, other, BOOL)

    def equals(self, other: OnnxValue | float) -> OnnxValue:
        return self._with(op.equals, other, BOOL)


@dataclass(frozen=True)
class LateRows:
    """The first ``count`` of ``rows``; the graph computes the count.

    On the host, the value is these rows, transposed if ``turned``, in ``dtype``. No node of the same graph can read it.
    """

    rows: OnnxValue
    count: OnnxValue
    dtype: DType
    turned: bool = False


def _stored(array: Array) -> Array:
    """Convert a constant's elements to the form that the device holds."""
    if array.dtype in STORED_AS_FLOAT32:
        return array.astype(np.float32)
    return array.astype(np.uint8) if array.dtype == BOOL else array


def constant(builder: Builder, array: npt.ArrayLike | TracedArray) -> OnnxValue:
    """Return a host array as a value."""
    if type(array) is TracedArray:
        return OnnxValue(builder, array.shape, array.dtype, traced=array)
    held = np.asarray(array)
    return OnnxValue(builder, held.shape, INT64 if is_traced(held) else held.dtype, array=held)


#: Type of the functions of ``dml.graph.operations``.
Operation = Callable[..., Tensor]
OutputKind = tuple[Sequence[int], DType]


def emit(
    cls: type[OperatorDesc], outputs: Mapping[str, OutputKind], builder: Builder, **fields: Any
) -> dict[str, OnnxValue]:
    """Add an operator to the graph.

    outputs: field -> (sizes, dtype). fields: values (or Tensors, where sizes were changed) for inputs, sequences of
    them for tensor arrays, plain values for attributes. Returns field -> OnnxValue of those sizes.
    """
    for name in cls.input_names:
        if fields.get(name) is not None:
            fields[name] = _tensors(fields[name])
    described = {name: packed_tensor(storage(dtype), tuple(sizes) or (1,)) for name, (sizes, dtype) in outputs.items()}
    tensors = builder.node(cls, described, **fields)
    return {name: OnnxValue(builder, sizes, dtype, tensor=tensors[name]) for name, (sizes, dtype) in outputs.items()}


def _tensors(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_tensors(item) for item in given]
    return given.tensor if isinstance(given, OnnxValue) else given


def one(
    cls: type[OperatorDesc], x: OnnxValue, shape: Sequence[int], dtype: DType | None = None, **fields: Any
) -> OnnxValue:
    """Add an operator with one output, by default of x's dtype."""
    if not prod(shape):
        return x.filled(0, shape, dtype)
    (output,) = cls.output_names
    return emit(cls, {output: (shape, dtype or x.dtype)}, x.builder, **fields)[output]


def applied(
    function: Operation,
    x: OnnxValue,
    shape: Sequence[int],
    *arguments: Any,
    dtype: DType | None = None,
    **attributes: Any,
) -> OnnxValue:
    """Apply an operation of ``dml.graph.operations`` to x and further arguments, among them values.

    shape, dtype: those of the result; by default, x's dtype.
    """
    if not prod(shape):
        return x.filled(0, shape, dtype)
    return x.with_tensor(function(x.tensor, *map(_tensors, arguments), **attributes), shape, dtype)


def unary(function: Operation, x: OnnxValue, dtype: DType | None = None, **attributes: Any) -> OnnxValue:
    """Apply an operation of ``dml.graph.operations`` to each element. dtype: the result's, by default x's."""
    return applied(function, x, x.shape, dtype=dtype, **attributes)


def binary(function: Operation, a: OnnxValue, b: OnnxValue, dtype: DType | None = None) -> OnnxValue:
    """Apply an operation of ``dml.graph.operations`` to pairs of elements, broadcast as in NumPy."""
    shape = broadcast_sizes(a.shape, b.shape)
    if not prod(shape):
        return a.filled(0, shape, dtype)
    return a.with_tensor(function(a.tensor, b.tensor), shape, dtype)


def expanded(x: OnnxValue, shape: Sequence[int]) -> OnnxValue:
    """Broadcast to larger sizes by strides; nothing is computed."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    if not prod(shape):
        return x.filled(0, shape)
    return x.with_tensor(x.tensor.broadcast(shape or (1,)), shape)


def reshape(x: OnnxValue, shape: Sequence[int]) -> OnnxValue:
    """Return the same elements, in row-major order, in another shape."""
    shape = tuple(map(whole, shape))
    if prod(shape) != x.size:
        raise DMLError(f"shape {x.shape} does not reshape to {shape}")
    if shape == x.shape:
        return x
    if x.constant is not None:
        return constant(x.builder, x.constant.reshape(shape))
    return x.with_tensor(x.packed.view(shape or (1,)), shape)


def transpose(x: OnnxValue, order: Sequence[int]) -> OnnxValue:
    """Permute the dimensions by strides; nothing is computed."""
    if x.rank < 2:
        return x
    if x.array is not None and is_small(x.size):
        return constant(x.builder, x.array.transpose(order))
    return x.with_tensor(x.tensor.transpose(*order), [x.shape[axis] for axis in order])


def cast(x: OnnxValue, dtype: npt.DTypeLike) -> OnnxValue:
    """Convert each element to another dtype; to bool: whether it is not zero."""
    wanted: DType = np.dtype(dtype)
    if wanted == x.dtype:
        return x
    if x.array is not None and is_small(x.size):
        with np.errstate(all="ignore"):
            return constant(x.builder, x.array.astype(wanted))
    if wanted == BOOL:
        return logical_not(x.equals(0))
    return x.with_tensor(as_type(x.tensor, storage(wanted)), dtype=wanted)


def logical_not(x: OnnxValue) -> OnnxValue:
    return unary(op.logical_not, x)


def logical_and(a: OnnxValue, b: OnnxValue) -> OnnxValue:
    return binary(op.logical_and, a, b)


def where(condition: OnnxValue, a: OnnxValue, b: OnnxValue) -> OnnxValue:
    """Select a where the condition holds, else b; all broadcast."""
    shape = broadcast_sizes(condition.shape, a.shape, b.shape)
    if not prod(shape):
        return a.filled(0, shape)
    return a.with_tensor(op.if_(condition.tensor, a.tensor, b.tensor), shape)


def maximum(a: OnnxValue, b: OnnxValue) -> OnnxValue:
    return binary(op.maximum, a, b)


def minimum(a: OnnxValue, b: OnnxValue) -> OnnxValue:
    return binary(op.minimum, a, b)


def within(x: OnnxValue, low: float, high: float) -> OnnxValue:
    """Limit each element to low and high."""
    return minimum(maximum(x, x.filled(low)), x.filled(high))
