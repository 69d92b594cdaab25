"""Convolutions, forward and backward (transposed), of floats and of integers: which kernels make one.

Every convolution has three spatial dimensions here. It is a product of matrices (windows of one element; on GPUs of any
number, ``implicit``), a sum kept in registers over a padded copy of the input (``direct``; for channels of their own
without the copy, ``depthwise``), the same by fewer products (``winograd``, 3 x 3), or, where none of these fits,
``general``: one invocation per element.
"""

from __future__ import annotations

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.operators.convolution.depthwise import depthwise
from dml.compiler.operators.convolution.direct import direct
from dml.compiler.operators.convolution.general import general
from dml.compiler.operators.convolution.geometry import Convolution
from dml.compiler.operators.convolution.implicit import implicit
from dml.compiler.operators.convolution.parts import parts
from dml.compiler.operators.convolution.product import by_product, is_one_matrix, is_product
from dml.compiler.operators.convolution.windows import WindowedSum, windowed_sums
from dml.compiler.operators.convolution.winograd import is_by_threes, winograd
from dml.compiler.operators.gemm.matmul import sum_type
from dml.compiler.scalar import Expression, Leaf, node, substitute
from dml.compiler.selection.convolution import (
    depthwise_tile,
    direct_tile,
    implicit_tile,
    is_cheaper_by_winograd,
    joins_images,
)
from dml.compiler.target import Target


def convolve(builder: ProgramBuilder, convolution: Convolution, finish: Expression) -> None:
    """``result = finish(convolution)``, an expression of Leaf(0).

    Floats accumulate in float32, INT32 modulo 2^32 (then without bias).
    """
    for summands in parts(convolution, builder.target.max_region):
        _sum_of(builder, summands, finish)


def _sum_of(builder: ProgramBuilder, summands: list[Convolution], finish: Expression) -> None:
    """``finish`` of the sum of convolutions with the same result; the bias counts in the first one alone."""
    first, *others = summands
    if not others:
        _convolve_part(builder, first, finish)
        return
    kind, words = sum_type(first.result)
    total, more = (builder.temporary(words, first.result.sizes) for _ in range(2))
    _convolve_part(builder, first.to(total), Leaf(0))
    added = node("$x0 + $x1", Leaf(0), Leaf(1), glsl=kind)
    for other in others:
        _convolve_part(builder, other.to(more).without_bias(), Leaf(0))
        if other is others[-1]:
            apply(builder, substitute(finish, [added]), other.result, [total, more])
        else:
            apply(builder, added, total, [total, more])


def _convolve_part(builder: ProgramBuilder, convolution: Convolution, finish: Expression) -> None:
    """A convolution whose tensors fit bindings."""
    sums = windowed_sums(convolution)
    if sums is None:
        general(builder, convolution, finish)
        return
    bits = DATA_TYPES[convolution.result.data_type].bits
    if len(sums) == 1 and _goes_by_product(builder.target, sums[0], bits):
        by_product(builder, sums[0], finish)
        return
    tiles = [direct_tile(builder.target, each.sizes) for each in sums]
    if len(sums) == 1 and is_by_threes(sums[0]) and is_cheaper_by_winograd(builder.target, sums[0].sizes, tiles[0]):
        winograd(builder, sums[0], finish)
        return
    implicits = [implicit_tile(builder.target, each.sizes) for each in sums]
    found = [tile for tile in implicits if tile is not None]
    if len(found) == len(sums):
        for each, product in zip(sums, found, strict=True):
            implicit(builder, each, product, finish)
        return
    strips = [depthwise_tile(builder.target, each.sizes, bits) for each in sums]
    rows = [tile for tile in strips if tile is not None]
    if len(rows) == len(sums):
        for each, strip in zip(sums, rows, strict=True):
            depthwise(builder, each, strip, finish)
        return
    chosen = [tile for tile in tiles if tile is not None]
    if len(chosen) < len(sums):
        general(builder, convolution, finish)
        return
    for each, tile in zip(sums, chosen, strict=True):
        direct(builder, each, tile, finish)


def _goes_by_product(target: Target, sums: WindowedSum, bits: int) -> bool:
    return is_product(sums) and (is_one_matrix(sums) or not joins_images(target, sums.sizes, bits))
