"""How operators compute constants on the host: the facts that ``@onnx_op(..., fold=...)`` registers.

Arrays of shapes are computed by NumPy, since ONNX's reference evaluator, which computes everything else, is slower to
import and for each node, which matters when a model is compiled for every new shape. While sizes are traced, arrays of
a few of them are computed number by number; for all other arrays only the shape is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import prod
from operator import add, eq, ge, gt, le, lt, mod, mul, sub
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from dml.shapes import broadcast_sizes, joined_sizes, replaced
from dml.traced import UntracedError

from ..dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, Array, DType, Shape
from ..load.loading import array_of
from ..registry import Fold
from .slicing import taken
from .traced_arrays import TracedArray, is_traced

if TYPE_CHECKING:
    from .node import OnnxNode

#: The dtypes of shapes and of values computed from them.
_WHOLE = (INT64, INT32, BOOL)
DTYPES = (*_WHOLE, FLOAT32)
_CASTS: dict[int, DType] = {
    onnx.TensorProto.FLOAT: FLOAT32,
    onnx.TensorProto.DOUBLE: FLOAT64,
    onnx.TensorProto.INT64: INT64,
    onnx.TensorProto.INT32: INT32,
    onnx.TensorProto.BOOL: BOOL,
}


def _known(array: Any) -> list[Any]:
    """Return the elements of a constant as numbers, some of which may be traced."""
    if isinstance(array, TracedArray):
        raise UntracedError("the number of elements depends on values computed from sizes")
    return list(array.reshape(-1).tolist())


def _product(array: Array) -> int:
    return abs(prod(int(size) for size in array.reshape(-1)))


# Element-wise operators


def _broadcast(node: OnnxNode, *arrays: Any) -> Shape:
    return broadcast_sizes(*[array.shape for array in arrays if array is not None])


def _numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *arrays: reduce(np.frompyfunc(function, 2, 1), arrays)


def _agreed(function: Callable[..., Any], kinds: str) -> Callable[..., Any]:
    """Return ``function`` as a fold of two arrays: it computes only if both have the same dtype, of one of these kinds,
    for which NumPy and ONNX agree."""

    def compute(node: OnnxNode, a: Array, b: Array) -> Any:
        agreed = node.version >= 7 and a.dtype == b.dtype and a.dtype.kind in kinds
        return function(a, b) if agreed else None

    return compute


def _arithmetic(function: Callable[..., Any], of_numbers: Callable[..., Any]) -> Fold:
    return Fold(_agreed(function, "if"), _numbers(of_numbers), shape=_broadcast)


def _comparison(of_numbers: Callable[..., Any], function: Callable[..., Any] | None = None, kinds: str = "if") -> Fold:
    compared = _numbers(of_numbers)
    return Fold(
        None if function is None else _agreed(function, kinds),
        lambda node, *arrays: np.asarray(compared(node, *arrays), BOOL),
        shape=_broadcast,
    )


def _quotient(a: Array, b: Array) -> Any:
    """Divide integers, rounding toward zero."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    if not b.all():
        return None
    whole, rest = np.divmod(a, b)
    return whole + ((rest != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def _quotient_of_numbers(a: Any, b: Any) -> Any:
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def _modulus(node: OnnxNode, a: Array, b: Array) -> Any:
    if node.attributes.get("fmod"):
        raise UntracedError(f"{node}: a remainder with the dividend's sign cannot be traced")
    return np.frompyfunc(mod, 2, 1)(a, b)


def _where(node: OnnxNode, condition: Array, a: Array, b: Array) -> Any:
    agreed = condition.dtype.kind in "bO" and a.dtype == b.dtype
    return np.where(condition.astype(BOOL), a, b) if agreed else None


def _cast(node: OnnxNode, x: Array) -> Any:
    wanted = _CASTS.get(node.attributes.get("to", 0))
    return x.astype(wanted) if wanted is not None and (x.dtype in _WHOLE or wanted.kind == "f") else None


def _cast_of_numbers(node: OnnxNode, x: Array) -> Array:
    if node.attributes.get("to") not in (onnx.TensorProto.INT32, onnx.TensorProto.INT64):
        raise UntracedError(f"{node}: sizes converted to other types cannot be traced")
    return x


#: Only by ONNX's reference; the result's shape cannot be traced.
REFERENCE = Fold()
ELEMENT_WISE = Fold(shape=_broadcast)
ADD = _arithmetic(np.add, add)
SUB = _arithmetic(np.subtract, sub)
MUL = _arithmetic(np.multiply, mul)
DIV = _arithmetic(_quotient, _quotient_of_numbers)
MAX = Fold(numbers=_numbers(max), shape=_broadcast)
MIN = Fold(numbers=_numbers(min), shape=_broadcast)
MOD = Fold(numbers=_modulus, shape=_broadcast)
AND = Fold(_agreed(np.logical_and, "b"), shape=_broadcast)
OR = Fold(_agreed(np.logical_or, "b"), shape=_broadcast)
NOT = Fold(lambda node, x: np.logical_not(x) if x.dtype == BOOL else None, shape=_broadcast)
EQUAL = _comparison(eq, np.equal, "ifb")
LESS = _comparison(lt, np.less)
LESS_OR_EQUAL = _comparison(le)
GREATER = _comparison(gt, np.greater)
GREATER_OR_EQUAL = _comparison(ge)
SQRT = Fold(lambda node, x: np.sqrt(x) if x.dtype == FLOAT32 else None, shape=_broadcast)
IDENTITY = Fold(lambda node, x: x, lambda node, x: x, shape=_broadcast)
CAST = Fold(_cast, _cast_of_numbers, shape=_broadcast)
WHERE = Fold(_where, _where, shape=_broadcast)
#: The result has the first input's shape, whatever the other inputs are.
SAME_SHAPE = Fold(shape=lambda node, x, *others: x.shape)


# Operators that move elements


def _axes(node: OnnxNode, axes: Array | None) -> tuple[int, ...]:
    return tuple(node.attributes.get("axes", ()) if axes is None else axes.reshape(-1).tolist())


def _unsqueeze(node: OnnxNode, x: Array, axes: Array | None = None) -> Any:
    return np.expand_dims(x, _axes(node, axes))


def _unsqueeze_shape(node: OnnxNode, x: Any, axes: Any = None) -> Shape:
    rank = len(x.shape) + len(_axes(node, axes))
    places, sizes = {axis % rank for axis in _axes(node, axes)}, iter(x.shape)
    return tuple([1 if index in places else next(sizes) for index in range(rank)])


def _squeeze(node: OnnxNode, x: Array, axes: Array | None = None) -> Any:
    return np.squeeze(x, _axes(node, axes) or None)


def _squeeze_shape(node: OnnxNode, x: Any, axes: Any = None) -> Shape:
    places = {axis % len(x.shape) for axis in _axes(node, axes)}
    if not places:
        raise UntracedError(f"{node}: Squeeze without axes cannot be traced")
    return tuple([size for index, size in enumerate(x.shape) if index not in places])


def _concat(node: OnnxNode, *arrays: Array) -> Any:
    same = "axis" in node.attributes and len({array.dtype for array in arrays}) == 1
    return np.concatenate(arrays, node.attributes["axis"]) if same else None


def _concat_shape(node: OnnxNode, *arrays: Any) -> Shape:
    shapes = [array.shape for array in arrays]
    return joined_sizes(shapes, node.axis("axis", 0, len(shapes[0])))


def _slices(node: OnnxNode, given: Sequence[Any]) -> Iterator[tuple[int, Any, Any, Any]]:
    """Yield each sliced axis with its start, end and step: inputs, or attributes in old versions."""
    if node.version >= 10:
        starts, ends, axes, steps = (None if bound is None else _known(bound) for bound in (*given, None, None)[:4])
    else:
        starts, ends, axes, steps = (node.attributes.get(name) for name in ("starts", "ends", "axes", "steps"))
    assert starts is not None
    assert ends is not None
    count = len(starts)
    yield from zip(
        range(count) if axes is None else axes, starts, ends, [1] * count if steps is None else steps, strict=True
    )


def _slice(node: OnnxNode, x: Array, *given: Array | None) -> Array:
    if any(map(is_traced, given)):
        raise UntracedError(f"{node}: a part of the sizes cannot be traced")
    if any(bound is not None and bound.ndim != 1 for bound in given):
        raise ValueError(f"{node}: starts, ends, axes and steps must have one dimension")
    places = [slice(None)] * x.ndim
    for axis, start, end, step in _slices(node, given):
        # NumPy would select nothing for a start before the first element
        places[axis] = slice(start if step > 0 else max(start, -x.shape[axis]), end, step)
    return x[tuple(places)]


def _slice_shape(node: OnnxNode, x: Any, *given: Any) -> Shape:
    sizes = list(x.shape)
    for axis, start, end, step in _slices(node, given):
        _, sizes[axis] = taken(start, end, step, sizes[axis])
    return tuple(sizes)


def _gather(node: OnnxNode, x: Array, indices: Array) -> Any:
    plain = indices.astype(np.int64) if indices.dtype.hasobject else indices
    return np.take(x, plain, node.attributes.get("axis", 0))


def _gather_shape(node: OnnxNode, x: Any, indices: Any) -> Shape:
    return replaced(x.shape, node.axis("axis", 0, len(x.shape)), indices.shape)


def _gather_size(node: OnnxNode, x: Array, indices: Array) -> int:
    rows = max(1, x.shape[node.axis("axis", 0, x.ndim)]) if x.ndim else 1
    return int(x.size // rows * indices.size)


def _reshape(node: OnnxNode, x: Array, shape: Array | None = None) -> Any:
    if shape is None or node.attributes.get("allowzero", 0):
        return None
    return x.reshape([x.shape[index] if size == 0 else size for index, size in enumerate(shape.tolist())])


def _reshape_shape(node: OnnxNode, x: Any, shape: Any) -> Shape:
    if node.attributes.get("allowzero", 0):
        raise UntracedError(f"{node}: allowzero")
    sizes = [x.shape[index] if size == 0 else size for index, size in enumerate(_known(shape))]
    if -1 in sizes:
        index = sizes.index(-1)
        sizes[index] = prod(x.shape) // prod(size for other, size in enumerate(sizes) if other != index)
    return tuple(sizes)


def _transpose_shape(node: OnnxNode, x: Any) -> Shape:
    order = node.attributes.get("perm") or range(len(x.shape))[::-1]
    return tuple([x.shape[axis] for axis in order])


UNSQUEEZE = Fold(_unsqueeze, _unsqueeze, shape=_unsqueeze_shape)
SQUEEZE = Fold(_squeeze, _squeeze, shape=_squeeze_shape)
# if the first input has no elements, others may
CONCAT = Fold(_concat, _concat, shape=_concat_shape, empty=False)
# any dtype: the reference slices as NumPy does, not as ONNX says
SLICE = Fold(_slice, _slice, shape=_slice_shape, any_dtype=True)
# Gathering rows of a large table costs as much here as uploading them, which would be repeated for each length.
GATHER = Fold(_gather, _gather, shape=_gather_shape, size=_gather_size, large_table=True)
RESHAPE = Fold(_reshape, _reshape, shape=_reshape_shape)
TRANSPOSE = Fold(lambda node, x: np.transpose(x, node.attributes.get("perm")), shape=_transpose_shape)
TILE = Fold(
    shape=lambda node, x, counts: tuple(map(mul, x.shape, _known(counts))),
    size=lambda node, x, counts: x.size * _product(counts),
)
EXPAND = Fold(
    lambda node, x, shape: x * np.ones(shape.tolist(), x.dtype),
    shape=lambda node, x, shape: broadcast_sizes(x.shape, _known(shape)),
    size=lambda node, x, shape: x.size * _product(shape),
)


# Operators that make or count elements


def _constant_of_shape(node: OnnxNode, shape: Array) -> Any:
    value = array_of(node.attributes["value"]) if "value" in node.attributes else np.zeros(1, np.float32)
    return np.full(tuple(shape.tolist()), value.reshape(-1)[0]) if value.size == 1 and shape.ndim == 1 else None


def _range(node: OnnxNode, start: Array, end: Array, step: Array) -> Any:
    if not start.size == end.size == step.size == 1 or not start.dtype == end.dtype == step.dtype == INT64:
        return None
    return np.arange(start.item(), end.item(), step.item(), dtype=np.int64) if step.item() else None


def _range_shape(node: OnnxNode, start: Any, end: Any, step: Any) -> Shape:
    (first,), (last,), (by,) = _known(start), _known(end), _known(step)
    return (max(0, -((first - last) // by)),)


def _range_size(node: OnnxNode, *arrays: Array) -> int:
    if any(array.size != 1 for array in arrays):
        return 0
    start, end, step = (float(array.item()) for array in arrays)
    return int(abs((end - start) / step)) + 1 if step else 2**62


def _reduced_product(node: OnnxNode, x: Array, *axes: Array) -> Any:
    if axes or "axes" in node.attributes:
        raise UntracedError(f"{node}: a reduction along some axes cannot be traced")
    product = reduce(mul, x.reshape(-1))
    return np.full((1,) * x.ndim, product, object) if node.integer("keepdims", 1) else product


def _first(array: Array) -> int:
    return int(array.reshape(-1)[:1].sum())


CONSTANT_OF_SHAPE = Fold(
    _constant_of_shape, shape=lambda node, shape: tuple(_known(shape)), size=lambda node, shape: _product(shape)
)
RANGE = Fold(_range, shape=_range_shape, size=_range_size)
REDUCE_PROD = Fold(numbers=_reduced_product)
WINDOW = Fold(size=lambda node, size: _first(size))
MEL_WEIGHT_MATRIX = Fold(size=lambda node, bins, length, *others: _first(bins) * _first(length))
#: Always mapped, even without elements to compute.
NEVER = Fold(constants=False, empty=False)
