"""ONNX values while a model is traced, and the operators that all mappings are made of.

A ``Value`` is a constant (an array on the host), or a tensor of the graph being built. Its shape and dtype are those of
ONNX: rank 0 stays rank 0 (a device tensor of sizes {1}), bool is UINT8 on the device and bfloat16 FLOAT32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import helper

from dml import enums
from dml.capability import operator_support, same_properties, short_name
from dml.descriptors import elementwise as ew
from dml.descriptors.base import OperatorDesc
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.descriptors.movement import (
    DML_CAST_OPERATOR_DESC,
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC,
    DML_GATHER_OPERATOR_DESC,
    DML_JOIN_OPERATOR_DESC,
    DML_SLICE1_OPERATOR_DESC,
)
from dml.descriptors.reduction import DML_REDUCE_OPERATOR_DESC
from dml.enums import DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError
from dml.graph.builder import Builder, Tensor
from dml.shapes import broadcast_sizes, ones_along, replaced, with_rank
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, data_type_of, numpy_dtype

Array = npt.NDArray[Any]
DType = np.dtype[Any]
Shape = tuple[int, ...]

BOOL, BFLOAT16 = np.dtype(np.bool_), np.dtype(ml_dtypes.bfloat16)
FLOAT32, FLOAT16, FLOAT64 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.float64)
INT64, INT32, UINT32, UINT8 = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.uint8)
FLOATS = (FLOAT32, FLOAT16, FLOAT64, BFLOAT16)

_T = DML_TENSOR_DATA_TYPE
#: What stands in for a data type that an operator does not take, best first.
_SUBSTITUTES: dict[DML_TENSOR_DATA_TYPE, tuple[DML_TENSOR_DATA_TYPE, ...]] = {
    _T.DML_TENSOR_DATA_TYPE_FLOAT64: (_T.DML_TENSOR_DATA_TYPE_FLOAT32,),
    _T.DML_TENSOR_DATA_TYPE_FLOAT16: (_T.DML_TENSOR_DATA_TYPE_FLOAT32,),
    _T.DML_TENSOR_DATA_TYPE_INT64: (_T.DML_TENSOR_DATA_TYPE_INT32,),
    _T.DML_TENSOR_DATA_TYPE_UINT64: (_T.DML_TENSOR_DATA_TYPE_UINT32,),
    _T.DML_TENSOR_DATA_TYPE_INT32: (_T.DML_TENSOR_DATA_TYPE_INT64,),
    _T.DML_TENSOR_DATA_TYPE_UINT32: (_T.DML_TENSOR_DATA_TYPE_UINT64, _T.DML_TENSOR_DATA_TYPE_INT64),
    _T.DML_TENSOR_DATA_TYPE_INT16: (_T.DML_TENSOR_DATA_TYPE_INT32, _T.DML_TENSOR_DATA_TYPE_FLOAT32),
    _T.DML_TENSOR_DATA_TYPE_INT8: (_T.DML_TENSOR_DATA_TYPE_INT32, _T.DML_TENSOR_DATA_TYPE_FLOAT32),
    _T.DML_TENSOR_DATA_TYPE_UINT16: (
        _T.DML_TENSOR_DATA_TYPE_UINT32,
        _T.DML_TENSOR_DATA_TYPE_INT32,
        _T.DML_TENSOR_DATA_TYPE_FLOAT32,
    ),
    _T.DML_TENSOR_DATA_TYPE_UINT8: (
        _T.DML_TENSOR_DATA_TYPE_UINT32,
        _T.DML_TENSOR_DATA_TYPE_INT32,
        _T.DML_TENSOR_DATA_TYPE_FLOAT32,
    ),
}


def storage(dtype: DType) -> DML_TENSOR_DATA_TYPE:
    """The data type that holds elements of an ONNX dtype on the device."""
    if dtype == BFLOAT16:
        return _T.DML_TENSOR_DATA_TYPE_FLOAT32
    try:
        return data_type_of(dtype)
    except DMLError:
        raise DMLError(f"no DirectML data type holds {dtype}", HRESULT.DXGI_ERROR_UNSUPPORTED) from None


def dtype_of(data_type: int) -> DType:
    """The NumPy dtype of an ONNX data type."""
    try:
        found: DType = np.dtype(helper.tensor_dtype_to_np_dtype(data_type))
        return found
    except (KeyError, ValueError, TypeError):
        raise DMLError(f"no NumPy dtype for ONNX data type {data_type}") from None


class Value:
    """A tensor of the model, of ONNX shape and dtype."""

    def __init__(
        self,
        builder: Builder,
        shape: Sequence[int],
        dtype: DType,
        *,
        array: Array | None = None,
        tensor: Tensor | None = None,
    ) -> None:
        self.builder = builder
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(dtype)
        self.array = array
        self._tensor = tensor

    def __repr__(self) -> str:
        return f"Value({self.dtype}, {self.shape}{', constant' if self.array is not None else ''})"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def tensor(self) -> Tensor:
        """The value in the graph; a constant becomes a constant node when it is first used."""
        if self._tensor is None:
            assert self.array is not None
            if not self.size:
                raise DMLError("a tensor without elements cannot go to the device", HRESULT.DXGI_ERROR_UNSUPPORTED)
            held = self.array.astype(np.float32) if self.dtype == BFLOAT16 else self.array
            storage(held.dtype)
            if held.dtype == BOOL:
                held = held.astype(np.uint8)
            self._tensor = self.builder.constant(np.ascontiguousarray(held))
        return self._tensor

    @property
    def packed(self) -> Tensor:
        """The tensor with its elements in row-major order."""
        return self.tensor.packed()

    def made(self, tensor: Tensor, shape: Sequence[int] | None = None, dtype: DType | None = None) -> Value:
        """A value of this one's builder, shape and dtype unless others are given."""
        return Value(
            self.builder, self.shape if shape is None else shape, self.dtype if dtype is None else dtype, tensor=tensor
        )

    def filled(self, number: complex, shape: Sequence[int] = (), dtype: DType | None = None) -> Value:
        """A constant beside this value, of its dtype."""
        return constant(self.builder, np.full(tuple(shape), number, dtype or self.dtype))

    # Element by element, as in NumPy; a number takes the dtype of the value.

    def _with(self, cls: type[OperatorDesc], other: Value | float, swap: bool = False) -> Value:
        second = other if isinstance(other, Value) else self.filled(other)
        return binary(cls, second, self) if swap else binary(cls, self, second)

    def __add__(self, other: Value | float) -> Value:
        return self._with(ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC, other)

    def __sub__(self, other: Value | float) -> Value:
        return self._with(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, other)

    def __rsub__(self, other: float) -> Value:
        return self._with(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, other, swap=True)

    def __mul__(self, other: Value | float) -> Value:
        return self._with(ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC, other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._with(ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC, other)

    __radd__, __rmul__ = __add__, __mul__

    def _compare(self, cls: type[OperatorDesc], other: Value | float) -> Value:
        return binary(cls, self, other if isinstance(other, Value) else self.filled(other), BOOL)

    def __lt__(self, other: Value | float) -> Value:
        return self._compare(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC, other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compare(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC, other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compare(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC, other)

    def __le__(self, other: Value | float) -> Value:
        return self._compare(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC, other)

    def equals(self, other: Value | float) -> Value:
        return self._compare(ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, other)


def constant(builder: Builder, array: npt.ArrayLike) -> Value:
    """A host array as a value."""
    held = np.asarray(array)
    return Value(builder, held.shape, held.dtype, array=held)


@cache
def _type_groups(cls: type[OperatorDesc]) -> list[set[str]]:
    """The tensor fields of an operator, those together that must have the same data type."""
    groups = [{info.name} for info in cls.fields_info if info.is_tensor]
    for same in same_properties(cls.OPERATOR_TYPE):
        if "DataType" in same.properties:
            joined = [group for group in groups if group & set(same.tensors)]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return groups


def _conversions(
    cls: type[OperatorDesc], held: dict[str, DML_TENSOR_DATA_TYPE], function: DML_REDUCE_FUNCTION | None
) -> dict[str, DML_TENSOR_DATA_TYPE]:
    """The data type that each tensor gets, given the one it has."""
    support = operator_support(cls.OPERATOR_TYPE, function=function) or {}
    result = {}
    for group in _type_groups(cls):  # type: ignore[arg-type]  # a class is hashable
        present = [name for name in group if name in held]
        for kind in {held[name] for name in present}:
            names = [name for name in present if held[name] == kind]
            for candidate in (kind, *_SUBSTITUTES.get(kind, ())):
                if all(candidate in support[name].data_types for name in names):
                    result.update(dict.fromkeys(names, candidate))
                    break
            else:
                raise DMLError(
                    f"{short_name(cls.OPERATOR_TYPE)} does not take {short_name(kind)}", HRESULT.DXGI_ERROR_UNSUPPORTED
                )
    return result


def _as_type(tensor: Tensor, kind: DML_TENSOR_DATA_TYPE) -> Tensor:
    if tensor.data_type == kind:
        return tensor
    return tensor.builder.one(DML_CAST_OPERATOR_DESC, tensor.sizes, kind, InputTensor=tensor)


Output = tuple[Sequence[int], DType]


def emit(cls: type[OperatorDesc], outputs: Mapping[str, Output], builder: Builder, **fields: Any) -> dict[str, Value]:
    """Add an operator to the graph, with casts around it where it does not take the data types.

    outputs: field -> (sizes, dtype). fields: Values (or Tensors, where sizes were changed) for inputs, sequences of
    them for tensor arrays, plain values for attributes. Returns field -> Value of those sizes.
    """
    inputs: dict[str, Any] = {}
    held: dict[str, DML_TENSOR_DATA_TYPE] = {}
    for info in cls.fields_info:
        given = fields.get(info.name)
        if info.kind != "input" or given is None:
            continue
        inputs[info.name] = _tensors(given)
        tensors = inputs[info.name] if isinstance(inputs[info.name], list) else [inputs[info.name]]
        held[info.name] = tensors[0].data_type
    for name, (_, dtype) in outputs.items():
        held[name] = storage(dtype)
    kinds = _conversions(cls, held, fields.get("Function"))
    for name, given in inputs.items():
        kind = kinds[name]
        fields[name] = [_as_type(t, kind) for t in given] if isinstance(given, list) else _as_type(given, kind)
    described = {
        name: DML_BUFFER_TENSOR_DESC(kinds[name], tuple(sizes) or (1,)) for name, (sizes, _) in outputs.items()
    }
    made = builder.node(cls, described, **fields)
    return {
        name: Value(builder, sizes, dtype, tensor=_as_type(made[name], storage(dtype)))
        for name, (sizes, dtype) in outputs.items()
    }


def _tensors(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_tensors(item) for item in given]
    return given.tensor if isinstance(given, Value) else given


def one(cls: type[OperatorDesc], x: Value, shape: Sequence[int], dtype: DType | None = None, **fields: Any) -> Value:
    """``emit`` of an operator with one output, of the dtype of ``x`` unless another is given."""
    if not prod(shape):
        return x.filled(0, shape, dtype)
    (output,) = (info.name for info in cls.fields_info if info.kind == "output")
    return emit(cls, {output: (shape, dtype or x.dtype)}, x.builder, **fields)[output]


def unary(cls: type[OperatorDesc], x: Value, dtype: DType | None = None, **attributes: Any) -> Value:
    """An operator on each element."""
    return one(cls, x, x.shape, dtype, InputTensor=x, **attributes)


def binary(cls: type[OperatorDesc], a: Value, b: Value, dtype: DType | None = None, **attributes: Any) -> Value:
    """An operator on pairs of elements, broadcast as in NumPy."""
    shape = broadcast_sizes(a.shape, b.shape)
    if not prod(shape):
        return a.filled(0, shape, dtype)
    return one(cls, a, shape, dtype, ATensor=expanded(a, shape).tensor, BTensor=expanded(b, shape).tensor, **attributes)


def expanded(x: Value, shape: Sequence[int]) -> Value:
    """Broadcast to larger sizes by strides; nothing is computed."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    if not prod(shape):
        return x.filled(0, shape)
    return x.made(x.tensor.broadcast(shape or (1,)), shape)


def reshape(x: Value, shape: Sequence[int]) -> Value:
    """The same elements, in row-major order, under another shape."""
    shape = tuple(int(size) for size in shape)
    if prod(shape) != x.size:
        raise DMLError(f"shape {x.shape} does not reshape to {shape}")
    if shape == x.shape:
        return x
    if x.array is not None:
        return constant(x.builder, x.array.reshape(shape))
    return x.made(x.packed.view(shape or (1,)), shape)


def transpose(x: Value, order: Sequence[int]) -> Value:
    """The dimensions in another order, by strides; nothing is computed."""
    if x.rank < 2:
        return x
    if x.array is not None and x.size <= 4096:
        return constant(x.builder, x.array.transpose(order))
    return x.made(x.tensor.transpose(*order), [x.shape[axis] for axis in order])


def cast(x: Value, dtype: npt.DTypeLike) -> Value:
    """Each element as another dtype; to bool, whether it is not zero."""
    wanted: DType = np.dtype(dtype)
    if wanted == x.dtype:
        return x
    if x.array is not None and x.size <= 4096:
        with np.errstate(all="ignore"):
            return constant(x.builder, x.array.astype(wanted))
    if wanted == BOOL:
        return logical_not(x.equals(0))
    return x.made(_as_type(x.tensor, storage(wanted)), dtype=wanted)


def logical_not(x: Value) -> Value:
    return unary(ew.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC, x)


def where(condition: Value, a: Value, b: Value) -> Value:
    """a where the condition holds, b elsewhere; broadcast."""
    shape = broadcast_sizes(condition.shape, a.shape, b.shape)
    if not prod(shape):
        return a.filled(0, shape)
    return one(
        ew.DML_ELEMENT_WISE_IF_OPERATOR_DESC,
        a,
        shape,
        ConditionTensor=expanded(condition, shape),
        ATensor=expanded(a, shape),
        BTensor=expanded(b, shape),
    )


def maximum(a: Value, b: Value) -> Value:
    return binary(ew.DML_ELEMENT_WISE_MAX_OPERATOR_DESC, a, b)


def minimum(a: Value, b: Value) -> Value:
    return binary(ew.DML_ELEMENT_WISE_MIN_OPERATOR_DESC, a, b)


def reduce(x: Value, function: DML_REDUCE_FUNCTION, axes: Sequence[int], keep: bool = True) -> Value:
    """A reduction over axes, whose dimensions stay with size 1 or go."""
    chosen = sorted({axis % x.rank for axis in axes}) if x.rank else []
    kept = ones_along(x.shape, chosen)
    made = one(DML_REDUCE_OPERATOR_DESC, x, kept or (1,), Function=function, InputTensor=x, Axes=chosen or (0,))
    return reshape(made, kept if keep else [size for axis, size in enumerate(x.shape) if axis not in chosen])


def total(x: Value, axes: Sequence[int], keep: bool = True) -> Value:
    return reduce(x, enums.DML_REDUCE_FUNCTION_SUM, axes, keep)


def mean(x: Value, axes: Sequence[int], keep: bool = True) -> Value:
    return reduce(x, enums.DML_REDUCE_FUNCTION_AVERAGE, axes, keep)


def matmul(a: Value, b: Value, *, transpose_b: bool = False, fused: OperatorDesc | None = None) -> Value:
    """Products of matrices of rank 2 and above, batches broadcast; ``transpose_b``: of a with b transposed."""
    batch = broadcast_sizes(a.shape[:-2], b.shape[:-2])
    m, n = a.shape[-2], b.shape[-2 if transpose_b else -1]
    result = (*batch, m, n)
    if not prod(result):
        return a.filled(0, result)
    if b.rank == 2 and a.rank > 2:  # one product of all rows
        rows = reshape(a, (prod(batch) * m, a.shape[-1]))
        return reshape(matmul(rows, b, transpose_b=transpose_b, fused=fused), result)
    a, b = expanded(a, (*batch, *a.shape[-2:])), expanded(b, (*batch, *b.shape[-2:]))
    if len(batch) > 2:
        a, b = (reshape(x, (prod(batch), *x.shape[-2:])) for x in (a, b))
        return reshape(matmul(a, b, transpose_b=transpose_b, fused=fused), result)
    return one(
        DML_GEMM_OPERATOR_DESC,
        a,
        result,
        ATensor=a,
        BTensor=b,
        CTensor=None,
        TransA=enums.DML_MATRIX_TRANSFORM_NONE,
        TransB=enums.DML_MATRIX_TRANSFORM(int(transpose_b)),
        Alpha=1.0,
        Beta=0.0,
        FusedActivation=fused,
    )


def slice_(x: Value, starts: Sequence[int], counts: Sequence[int], steps: Sequence[int] | None = None) -> Value:
    """counts[i] elements of each dimension from starts[i] on, every steps[i]-th; steps may be negative."""
    steps = tuple(steps or (1,) * x.rank)
    counts = tuple(counts)
    if counts == x.shape and all(step == 1 for step in steps):
        return x
    if not prod(counts):
        return x.filled(0, counts)
    offsets = [s + (n - 1) * min(step, 0) for s, n, step in zip(starts, counts, steps, strict=True)]
    windows = [(n - 1) * abs(step) + 1 for n, step in zip(counts, steps, strict=True)]
    return one(
        DML_SLICE1_OPERATOR_DESC,
        x,
        counts,
        InputTensor=x,
        InputWindowOffsets=offsets,
        InputWindowSizes=windows,
        InputWindowStrides=steps,
    )


def part(x: Value, axis: int, start: int, count: int) -> Value:
    """Consecutive slices along an axis."""
    starts, counts = [0] * x.rank, list(x.shape)
    starts[axis], counts[axis] = start, count
    return slice_(x, starts, counts)


def join(values: Sequence[Value], axis: int) -> Value:
    """One after another along an axis; those without elements are left out."""
    first = values[0]
    axis %= first.rank
    shape = list(first.shape)
    shape[axis] = sum(value.shape[axis] for value in values)
    full = [value for value in values if value.size]
    if not full:
        return first.filled(0, shape)
    if len(full) == 1:
        return full[0]
    return one(DML_JOIN_OPERATOR_DESC, first, shape, InputTensors=full, Axis=axis)


def resized(x: Value, axis: int, count: int, number: complex = 0) -> Value:
    """x with a number behind, or without what is behind, so that an axis has a size."""
    if x.shape[axis] >= count:
        return part(x, axis, 0, count)
    missing = list(x.shape)
    missing[axis] = count - x.shape[axis]
    return join([x, x.filled(number, missing)], axis)


def gather(x: Value, indices: Value, axis: int) -> Value:
    """Slices of x along an axis, picked by indices of any shape."""
    axis %= x.rank
    shape = replaced(x.shape, axis, indices.shape)
    if not prod(shape):
        return x.filled(0, shape)
    # The operator's tensors have equal rank, with ones in front; indices of rank 0 go in as one of rank 1.
    index = reshape(indices, indices.shape or (1,))
    long = replaced(x.shape, axis, index.shape)
    rank = len(long)
    ones = rank - x.rank
    made = one(
        DML_GATHER_OPERATOR_DESC,
        x,
        long,
        InputTensor=reshape(x, with_rank(x.shape, rank)),
        IndicesTensor=reshape(index, with_rank(index.shape, rank)),
        Axis=axis + ones,
        IndexDimensions=index.rank,
    )
    return reshape(made, shape)


def fill(builder: Builder, number: Any, shape: Sequence[int], dtype: DType) -> Value:
    """A tensor of one number, filled on the device where it is large."""
    if prod(shape) <= 4096:
        return constant(builder, np.full(tuple(shape), number, dtype))
    kind = storage(dtype)
    held = np.asarray(number).astype(dtype).astype(numpy_dtype(kind))
    made = emit(
        DML_FILL_VALUE_CONSTANT_OPERATOR_DESC,
        {"OutputTensor": (shape, dtype)},
        builder,
        ValueDataType=kind,
        Value=scalar(held, numpy_dtype(kind)),
    )
    return made["OutputTensor"]


def scalar(number: Any, dtype: DType) -> DML_SCALAR_UNION:
    """A number as the union that DirectML reads in a data type."""
    return DML_SCALAR_UNION(Bytes=np.asarray(number).astype(dtype).tobytes())
