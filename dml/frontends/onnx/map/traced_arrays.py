"""Constants derived from a model's sizes while some of these are traced.

Small integer arrays, as used for shapes, keep their numbers: such an array has the dtype object, and represents int64.
It is computed number by number with Python's operators, so that the traces continue. For all other arrays (positions,
masks) only the shape is traced; the elements are computed again for each size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dml.traced import Numbers, TracedInt, TracedValue, UntracedError, filled, now_of, numbers_in

from ..dtypes import BOOL, Array, DType, Shape
from ..registry import Fold

if TYPE_CHECKING:
    from .node import OnnxNode

#: Maximum number of elements in an array of traced numbers.
_FEW = 16


@dataclass(frozen=True, eq=False)
class TracedArray(TracedValue):
    """A constant whose elements are computed from traced numbers. now: the elements for the present numbers.

    of: the traced numbers, in addition to the shape, on which the elements depend. make: computes the elements for
    other numbers.
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


def of_shape(shape: Shape, make: Callable[[Shape], Array]) -> Array | TracedArray:
    """Return ``make(shape)``, which is computed again for other sizes if some are traced."""
    plain = tuple(map(now_of, shape))
    if not any(type(size) is TracedInt for size in shape):
        return make(plain)
    return TracedArray(shape, make(plain), (), lambda numbers: make(filled(shape, numbers)))


def full(shape: Shape, number: complex, dtype: DType) -> Array | TracedArray:
    """Like ``np.full``; the number, too, may be traced."""
    if type(number) is not TracedInt:
        return of_shape(shape, lambda plain: np.full(plain, number, dtype))

    def filled_array(plain: Shape, now: int) -> Array:
        return np.full(plain, now, dtype)

    return TracedArray(
        shape,
        filled_array(tuple(map(now_of, shape)), number.now),
        (number,),
        lambda numbers: filled_array(filled(shape, numbers), numbers[number]),
    )


def counted(shape: Shape, dtype: npt.DTypeLike = np.int32) -> Array | TracedArray:
    """Return the numbers from 0 on in row-major order."""
    return of_shape(shape, lambda plain: np.arange(prod(plain), dtype=dtype).reshape(plain))


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
    how: Fold,
    arrays: Sequence[Array | TracedArray | None],
    evaluate: Callable[[list[Array | None]], list[Array] | None],
) -> Array | TracedArray:
    """Return the only output of a node whose inputs are constants, some of them traced.

    evaluate: computes the node's outputs for plain arrays. Raises UntracedError if the result cannot be traced.
    """
    if len(node.proto.output) != 1:
        raise UntracedError(f"{node}: several outputs")
    few: list[Any] = [
        None if a is None else a.astype(object)
        for a in arrays
        if a is None or (not isinstance(a, TracedArray) and a.size <= _FEW and a.dtype.kind in "iubO")
    ]
    if how.numbers is not None and len(few) == len(arrays):
        try:
            found = how.numbers(node, *few)
            if found is not None:
                return _of_numbers(found)
        except (UntracedError, ValueError):  # ValueError: NumPy's error for shapes that do not fit
            pass
    given = [None if array is None else as_traced_array(array) for array in arrays]
    if how.shape is None:
        raise UntracedError(f"{node}: the shape of its result cannot be traced")

    def evaluated(elements: list[Array | None]) -> Array:
        found = evaluate(elements)
        if found is None:
            raise UntracedError(f"{node}: cannot be computed")
        return found[0]

    return TracedArray(
        how.shape(node, *arrays),
        evaluated([None if item is None else item.now for item in given]),
        tuple(dict.fromkeys(number for item in given if item is not None for number in item.numbers)),
        lambda numbers: evaluated([None if item is None else item.at(numbers) for item in given]),
    )


def _of_numbers(found: Any) -> Array:
    """Return a result computed number by number, of int64 or bool if none is traced."""
    array = np.empty(np.shape(found), object)
    array[...] = found
    is_bool = isinstance(found, np.ndarray) and found.dtype == BOOL
    return array if is_traced(array) else array.astype(BOOL if is_bool else np.int64)
