"""Operations on integers that DirectML's operator of the same name does not take, exact modulo 2^bits."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.meaning.casts import as_type
from dml.graph.builder import Tensor
from dml.shapes import broadcast_sizes
from dml.tensors import data_type_of

#: Bytes of the products of elements that are in memory at once.
PRODUCT_BYTES = 128 << 20
#: Number of low bits of an exponent to use: with larger exponents, every base except 0, 1 and -1 overflows 64 bits.
_EXPONENT_BITS = 6


#: Functions that return integers unchanged, by the kind of data type.
_UNCHANGED: dict[str, tuple[Callable[..., Tensor], ...]] = {
    "i": (op.floor, op.ceil, op.round_),
    "u": (op.floor, op.ceil, op.round_, op.absolute),
}


def is_integer(x: Tensor) -> bool:
    return x.desc.dtype.kind in "iu"


def keeps(function: Callable[..., Tensor], dtype: np.dtype[Any]) -> bool:
    """Whether a function returns its argument, because that is an integer."""
    return function in _UNCHANGED.get(dtype.kind, ())


def is_wide(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" and dtype.itemsize == 8


def matmul(a: Tensor, b: Tensor, turn_a: bool = False, turn_b: bool = False) -> Tensor:
    """Return A B; integers, which GEMM does not take, by products of elements and their sums.

    turn_a, turn_b: transpose the matrices first.
    """
    if not is_integer(a):
        return op.gemm(a, b, transpose_a=turn_a, transpose_b=turn_b)
    dtype = a.desc.dtype
    summed = data_type_of(f"{dtype.kind}{max(4, dtype.itemsize)}")  # REDUCE takes 32 and 64 bits
    left, right = (as_type(_swapped(x) if turned else x, summed) for x, turned in ((a, turn_a), (b, turn_b)))
    batch = prod(broadcast_sizes(left.sizes[:-2], right.sizes[:-2]))
    rows, row_bytes = left.sizes[-2], batch * prod(right.sizes[-2:]) * left.desc.dtype.itemsize
    count = min(rows, ceil(rows * row_bytes / PRODUCT_BYTES))
    sizes = [rows // count + (index < rows % count) for index in range(count)]
    parts = op.split(left, left.rank - 2, sizes) if count > 1 else [left]
    products = [_product(part, right) for part in parts]
    return as_type(op.join(products, products[0].rank - 2) if count > 1 else products[0], a.data_type)


def _product(a: Tensor, b: Tensor) -> Tensor:
    products = op.multiply(a.reshape(*a.sizes, 1), b.reshape(*b.sizes[:-2], 1, *b.sizes[-2:]))
    sums = op.reduce(products, enums.DML_REDUCE_FUNCTION_SUM, [products.rank - 2])
    return sums.reshape(*sums.sizes[:-2], sums.sizes[-1])


def _swapped(x: Tensor) -> Tensor:
    return x.transpose(*range(x.rank - 2), x.rank - 1, x.rank - 2)


def relu(x: Tensor) -> Tensor:
    if x.desc.dtype.kind == "u":
        return x
    return op.maximum(x, 0) if is_wide(x.desc.dtype) else op.relu(x)


def parameterized_relu(x: Tensor, slope: Tensor) -> Tensor:
    if not is_wide(x.desc.dtype):
        return op.parameterized_relu(x, slope)
    return x if x.desc.dtype.kind == "u" else op.if_(op.less_than(x, 0), op.multiply(x, slope), x)


def power(x: Tensor, exponent: int | Tensor) -> Tensor:
    """Return x to the power of an exponent of any data type; x of 64 bits by repeated squaring.

    A negative integer gives 0, unless x is 1 or -1.
    """
    if not isinstance(exponent, Tensor):
        if is_wide(x.desc.dtype) and exponent > 0:
            return _repeated(x, exponent)
        exponent = x.builder.like(exponent, x)
    if not is_wide(x.desc.dtype) or not is_integer(exponent):
        return op.pow_(x, exponent)
    exponent = as_type(exponent, x.data_type)
    one, zero = x.builder.like(1, x), x.builder.like(0, x)
    # Larger exponents become 62 or 63, so that powers of 0, 1 and -1 stay right.
    odd = op.modulus_floor(exponent, 2)
    left = op.minimum(exponent, op.add(odd, (1 << _EXPONENT_BITS) - 2))
    signed = x.desc.dtype.kind == "i"
    if signed:
        left = op.if_(op.less_than(exponent, 0), odd, left)
    result, factor = one, x
    for bit in range(_EXPONENT_BITS):
        if bit:
            left, factor = op.divide(left, 2), op.multiply(factor, factor)
        result = op.multiply(result, op.if_(op.equals(op.modulus_floor(left, 2), 1), factor, one))
    if not signed:
        return result
    stays = op.logical_or(op.greater_than_or_equal(exponent, 0), op.equals(op.absolute(x), 1))
    return op.if_(stays, result, zero)


def _repeated(x: Tensor, exponent: int) -> Tensor:
    result, factor = None, x
    while exponent:
        if exponent & 1:
            result = factor if result is None else op.multiply(result, factor)
        exponent >>= 1
        if exponent:
            factor = op.multiply(factor, factor)
    assert result is not None
    return result
