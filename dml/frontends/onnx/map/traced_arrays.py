"""Constants derived from a model's sizes while some of these are traced.

Small integer arrays, as used for shapes, keep their numbers: such an array has the dtype object, and represents int64.
It is computed number by number with Python's operators, so that the traces continue. For all other arrays (positions,
masks) only the shape is traced; the elements are computed again for each size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import add, eq, ge, gt, le, lt, mod, mul, sub
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from dml.shapes import broadcast_sizes
from dml.traced import Numbers, TracedInt, TracedValue, UntracedError, filled, now_of, numbers_in

from ..dtypes import BOOL, Array, DType, Shape
from .slicing import taken

if TYPE_CHECKING:
    from .node import OnnxNode

#: Maximum number of elements in an array of traced numbers.
_FEW = 16


@dataclass(frozen=True, eq=False)
class TracedArray(TracedValue):
    """A constant whose elements are computed from traced numbers. now: the elements for the present numbers.

    of: the numbers it depends on besides the shape. make: computes the elements for other numbers.
    """

    shape: Shape
    now: Array
    of: tuple[TracedInt, ...]
    make: Callable[[Numbers], Array]

    def __post_init__(self) -> None:
        plain = tuple(map(now_of, self.shape))
        if plain != self.now.shape:
            raise UntracedError(f"shape {self.now.shape} was assumed to be {plain}")

    @property
    def dtype(self) -> DType:
        return self.now.dtype

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def numbers(self) -> Iterator[TracedInt]:
        yield from self.of
        yield from numbers_in(self.shape)

    def at(self, numbers: Numbers) -> Array:
        found: Array | None = numbers.known.get(id(self))
        if found is not None:
            return found
        found = numbers.known[id(self)] = self.make(numbers)
        if found.shape != filled(self.shape, numbers) or found.dtype != self.dtype:
            raise UntracedError("the constant's shape differs")
        return found

    def like(self, change: Callable[[Array], Array], shape: Shape | None = None) -> TracedArray:
        """Return a result computed from this array. shape: defaults to the array's own."""
        return TracedArray(
            self.shape if shape is None else shape, change(self.now), self.of, lambda numbers: change(self.at(numbers))
        )

    def reshape(self, shape: Shape) -> TracedArray:
        plain = tuple(map(now_of, shape))
        return TracedArray(
            shape, self.now.reshape(plain), self.of, lambda numbers: self.at(numbers).reshape(filled(shape, numbers))
        )


def is_traced(array: Array | TracedArray | None) -> bool:
    """Return whether some elements of a constant depend on traced numbers."""
    if array is None or isinstance(array, TracedArray):
        return array is not None
    return array.dtype.hasobject and any(type(item) is TracedInt for item in array.reshape(-1))


def of_sizes(sizes: Sequence[int] | int) -> Array:
    """Return sizes as an array, of int64 if none is traced."""
    array = np.array(sizes, object)
    return array if is_traced(array) else array.astype(np.int64)


def as_traced_array(array: Array | TracedArray) -> TracedArray:
    """Convert a constant; traced numbers become elements of int64."""
    if isinstance(array, TracedArray):
        return array
    numbers = tuple(numbers_in(array))
    now = filled(array, Numbers({number: number.now for number in numbers}))
    return TracedArray(array.shape, now, numbers, lambda values: np.asarray(filled(array, values)))


def computed_of_sizes(
    node: OnnxNode,
    arrays: Sequence[Array | TracedArray | None],
    evaluate: Callable[[list[Array | None]], list[Array] | None],
) -> Array | TracedArray:
    """Return the only output of a node whose inputs are constants, some of them traced.

    evaluate: computes the node's outputs for plain arrays. Raises UntracedError if the result cannot be traced.
    """
    if len(node.proto.output) != 1:
        raise UntracedError(f"{node}: several outputs")
    compute = _COMPUTE.get(node.op)
    few: list[Any] = [
        None if a is None else a.astype(object)
        for a in arrays
        if a is None or (not isinstance(a, TracedArray) and a.size <= _FEW and a.dtype.kind in "iubO")
    ]
    if compute is not None and len(few) == len(arrays):
        try:
            return _number_by_number(node, compute, few)
        except (UntracedError, ValueError):  # (ValueError: NumPy's error for shapes that do not fit)
            pass
    given = [None if array is None else as_traced_array(array) for array in arrays]
    rule = _SHAPES.get(node.op, _broadcast if node.op in _ELEMENT_WISE else None)
    if rule is None:
        raise UntracedError(f"{node}: the shape of its result cannot be traced")

    def made(elements: list[Array | None]) -> Array:
        found = evaluate(elements)
        if found is None:
            raise UntracedError(f"{node}: cannot be computed")
        return found[0]

    return TracedArray(
        tuple(rule(node, *arrays)),
        made([None if item is None else item.now for item in given]),
        tuple(dict.fromkeys(number for item in given if item is not None for number in item.numbers)),
        lambda numbers: made([None if item is None else item.at(numbers) for item in given]),
    )


def _number_by_number(node: OnnxNode, compute: Callable[..., Any], arrays: Sequence[Any]) -> Array:
    found = compute(node, *arrays)
    made = np.empty(np.shape(found), object)
    made[...] = found
    if is_traced(made):
        return made
    return made.astype(BOOL if node.op in _COMPARISONS else np.int64)


# Number by number


def _pairwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *arrays: reduce(np.frompyfunc(function, 2, 1), arrays)


def _quotient(a: Any, b: Any) -> Any:
    """Divide integers, rounding toward zero."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def _axes(node: OnnxNode, axes: Array | None) -> tuple[int, ...]:
    return tuple(node.attributes.get("axes", ()) if axes is None else axes.reshape(-1).tolist())


def _bounds(node: OnnxNode, given: Sequence[Any]) -> list[list[Any] | None]:
    """Return starts, ends, axes and steps of a slice: inputs, or attributes in old versions."""
    if node.version >= 10:
        return [None if bound is None else _known(bound) for bound in (*given, None, None)[:4]]
    return [node.attributes.get(name) for name in ("starts", "ends", "axes", "steps")]


def _slices(node: OnnxNode, given: Sequence[Any]) -> Iterator[tuple[int, Any, Any, Any]]:
    """Yield each sliced axis with its start, end and step."""
    starts, ends, axes, steps = _bounds(node, given)
    assert starts is not None
    assert ends is not None
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        yield index if axes is None else axes[index], start, end, 1 if steps is None else steps[index]


def _slice(node: OnnxNode, x: Array, *given: Array | None) -> Array:
    if any(map(is_traced, given)):
        raise UntracedError(f"{node}: a part of the sizes cannot be traced")
    places = [slice(None)] * x.ndim
    for axis, start, end, step in _slices(node, given):
        places[axis] = slice(start if step > 0 else max(start, -x.shape[axis]), end, step)
    return x[tuple(places)]


def _cast(node: OnnxNode, x: Array) -> Array:
    if node.attributes.get("to") not in (onnx.TensorProto.INT32, onnx.TensorProto.INT64):
        raise UntracedError(f"{node}: sizes converted to other types cannot be traced")
    return x


def _modulus(node: OnnxNode, a: Array, b: Array) -> Any:
    if node.attributes.get("fmod"):
        raise UntracedError(f"{node}: a remainder with the dividend's sign cannot be traced")
    return np.frompyfunc(mod, 2, 1)(a, b)


def _product(node: OnnxNode, x: Array, *axes: Array) -> Any:
    if axes or "axes" in node.attributes:
        raise UntracedError(f"{node}: a reduction along some axes cannot be traced")
    product = reduce(mul, x.reshape(-1))
    return np.full((1,) * x.ndim, product, object) if node.integer("keepdims", 1) else product


def _reshape(node: OnnxNode, x: Array, shape: Array) -> Array:
    return x.reshape([x.shape[index] if size == 0 else size for index, size in enumerate(shape.tolist())])


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "Equal": eq, "Less": lt, "LessOrEqual": le, "Greater": gt, "GreaterOrEqual": ge,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": add, "Sub": sub, "Mul": mul, "Div": _quotient, "Max": max, "Min": min,
}  # fmt: skip
_COMPUTE: dict[str, Callable[..., Any]] = {
    **{name: _pairwise(function) for name, function in (_COMPARISONS | _ARITHMETIC).items()},
    "Mod": _modulus,
    "Identity": lambda node, x: x,
    "Cast": _cast,
    "Concat": lambda node, *arrays: np.concatenate(arrays, node.attributes["axis"]),
    "Gather": lambda node, x, indices: np.take(x, indices.astype(np.int64), node.attributes.get("axis", 0)),
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": lambda node, x, axes=None: np.squeeze(x, _axes(node, axes) or None),
    "Unsqueeze": lambda node, x, axes=None: np.expand_dims(x, _axes(node, axes)),
    "Where": lambda node, condition, a, b: np.where(condition.astype(BOOL), a, b),
}


# Only the number of elements matters


def _known(array: Any) -> list[Any]:
    """Return the numbers in a constant, which may be traced."""
    if isinstance(array, TracedArray):
        raise UntracedError("the number of elements depends on values computed from sizes")
    return list(array.reshape(-1).tolist())


def _broadcast(node: OnnxNode, *arrays: Any) -> Shape:
    return broadcast_sizes(*[array.shape for array in arrays if array is not None])


def _range_shape(node: OnnxNode, start: Any, end: Any, step: Any) -> Shape:
    (first,), (last,), (by,) = _known(start), _known(end), _known(step)
    return (max(0, -((first - last) // by)),)


def _slice_shape(node: OnnxNode, x: Any, *given: Any) -> Shape:
    sizes = list(x.shape)
    for axis, start, end, step in _slices(node, given):
        _, sizes[axis] = taken(start, end, step, sizes[axis])
    return tuple(sizes)


def _gather_shape(node: OnnxNode, x: Any, indices: Any) -> Shape:
    axis = node.axis("axis", 0, len(x.shape))
    return *x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]


def _reshape_shape(node: OnnxNode, x: Any, shape: Any) -> Shape:
    if node.attributes.get("allowzero", 0):
        raise UntracedError(f"{node}: allowzero")
    sizes = [x.shape[at] if size == 0 else size for at, size in enumerate(_known(shape))]
    if -1 in sizes:
        at = sizes.index(-1)
        sizes[at] = prod(x.shape) // prod(size for other, size in enumerate(sizes) if other != at)
    return tuple(sizes)


def _concat_shape(node: OnnxNode, *arrays: Any) -> Shape:
    axis = node.axis("axis", 0, len(arrays[0].shape))
    sizes = list(arrays[0].shape)
    sizes[axis] = sum(array.shape[axis] for array in arrays)
    return tuple(sizes)


def _unsqueeze_shape(node: OnnxNode, x: Any, axes: Any = None) -> Shape:
    rank = len(x.shape) + len(_axes(node, axes))
    places, sizes = {axis % rank for axis in _axes(node, axes)}, iter(x.shape)
    return tuple([1 if index in places else next(sizes) for index in range(rank)])


def _squeeze_shape(node: OnnxNode, x: Any, axes: Any = None) -> Shape:
    places = {axis % len(x.shape) for axis in _axes(node, axes)}
    if not places:
        raise UntracedError(f"{node}: Squeeze without axes cannot be traced")
    return tuple([size for index, size in enumerate(x.shape) if index not in places])


def _transpose_shape(node: OnnxNode, x: Any) -> Shape:
    order = node.attributes.get("perm") or range(len(x.shape))[::-1]
    return tuple([x.shape[axis] for axis in order])


_ELEMENT_WISE = frozenset(
    """
    Abs Add And Cast Ceil Clip Cos CumSum Div Equal Exp Floor Greater GreaterOrEqual Identity Less LessOrEqual Log Max
    Min Mod Mul Neg Not Or Pow Reciprocal Round Sign Sin Sqrt Sub Tanh Trilu Where Xor
    """.split()  # noqa: SIM905  # more readable than a list of forty strings
)
_SHAPES: dict[str, Callable[..., Shape]] = {
    "CumSum": lambda node, x, axis: x.shape,
    "Trilu": lambda node, x, *k: x.shape,
    "Concat": _concat_shape,
    "ConstantOfShape": lambda node, shape: tuple(_known(shape)),
    "Expand": lambda node, x, shape: broadcast_sizes(x.shape, _known(shape)),
    "Gather": _gather_shape,
    "Range": _range_shape,
    "Reshape": _reshape_shape,
    "Slice": _slice_shape,
    "Squeeze": _squeeze_shape,
    "Tile": lambda node, x, counts: tuple(map(mul, x.shape, _known(counts))),
    "Transpose": _transpose_shape,
    "Unsqueeze": _unsqueeze_shape,
}
