"""The choice of kernels for a convolution, forward or backward (transposed), of floats or integers.

Every convolution has three spatial dimensions here. The kernels: a matrix product (windows of one element, or along one
axis of one channel; on GPUs any windows, ``implicit``); sums in registers over a padded copy of the input (``direct``;
without the copy for groups of one channel, ``depthwise``); the same with fewer multiplications (``winograd``, 3 x 3);
and for all others ``general``, with one invocation per element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.clips import bounds_of, within
from dml.compiler.operators.convolution.blocks import from_blocks, in_blocks, in_blocks_of_rows
from dml.compiler.operators.convolution.depthwise import depthwise, in_fours
from dml.compiler.operators.convolution.direct import direct
from dml.compiler.operators.convolution.general import general
from dml.compiler.operators.convolution.geometry import Convolution
from dml.compiler.operators.convolution.implicit import implicit, implicit_on_matrices, is_flat
from dml.compiler.operators.convolution.parts import parts
from dml.compiler.operators.convolution.product import (
    by_product,
    is_one_matrix,
    is_product,
    is_strided_product,
    thinned,
    unfolded,
    with_taps_as_channels,
)
from dml.compiler.operators.convolution.windows import WindowedSum, windowed_sums
from dml.compiler.operators.convolution.winograd import is_three_by_three, winograd
from dml.compiler.operators.gemm.matmul import sum_type
from dml.compiler.program import fast_replace
from dml.compiler.scalar import Expression, Leaf, node, substitute
from dml.compiler.selection.convolution import (
    ROW_BLOCK,
    clips_results,
    depthwise_tile,
    direct_tile,
    goes_by_rows,
    implicit_matrix_tile,
    implicit_tile,
    is_cheaper_by_winograd,
    is_worth_multiplying,
    is_worth_thinning,
    is_worth_unfolding,
    joins_images,
    prefers_blocks,
)
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT16

_Tile = TypeVar("_Tile")


def convolve(builder: ProgramBuilder, convolution: Convolution, finish: Expression) -> None:
    """Compute ``result = finish(convolution)``. finish: the expression applied to each sum, which is its Leaf(0).

    Floats accumulate in float32, INT32 modulo 2^32 (without bias).
    """
    if clips_results(builder.target) and DATA_TYPES[convolution.result.computed_type].kind == "float":
        convolution, finish = _clipped(convolution, finish)
    for summands in parts(convolution.along_width(), builder.target.max_region):
        _sum_of(builder, summands, finish)


def _clipped(convolution: Convolution, finish: Expression) -> tuple[Convolution, Expression]:
    """Replace an expression that only clamps, or does nothing, by a clamp whose bounds are data of the dispatch."""
    result, epilogue = convolution.result, convolution.result.epilogue
    if epilogue is not None and epilogue.operands:
        return convolution, finish
    bounds = bounds_of(finish if epilogue is None else substitute(epilogue.expression, [finish]))
    if bounds is None:
        return convolution, finish
    return convolution.to(fast_replace(result, epilogue=None)), within(*bounds, Leaf(0))


def _sum_of(builder: ProgramBuilder, summands: list[Convolution], finish: Expression) -> None:
    """Compute ``finish`` of the sum of convolutions with the same result; only the first adds the bias."""
    first, *others = summands
    if not others:
        _convolve_part(builder, first, finish)
        return
    kind, words = sum_type(first.result)
    total, more = (builder.temporary(words, first.result.sizes) for _ in range(2))
    _convolve_part(builder, first.to(total), Leaf(0))
    added = node("$x0 + $x1", Leaf(0), Leaf(1), glsl=kind)
    for other in others:
        _convolve_part(builder, fast_replace(other.to(more), bias=None), Leaf(0))
        if other is others[-1]:
            apply(builder, substitute(finish, [added]), other.result, [total, more])
        else:
            apply(builder, added, total, [total, more])


def _convolve_part(builder: ProgramBuilder, convolution: Convolution, finish: Expression) -> None:
    """Compute a convolution whose tensors fit bindings."""
    target, sums = builder.target, windowed_sums(convolution)
    if convolution.geometry.backward and (sums is None or prefers_blocks(target, sums[0].sizes, len(sums))):
        blocks = in_blocks(builder, convolution)
        if blocks is not None:
            convolve(builder, blocks, Leaf(0))
            from_blocks(builder, blocks.result, convolution, convolution.geometry.strides, finish)
            return
    if sums is None:
        general(builder, convolution, finish)
        return
    bits, halves = DATA_TYPES[convolution.result.data_type].bits, _are_halves(convolution)
    alone = sums[0] if len(sums) == 1 else None
    if alone is not None and _convolve_cheaply(builder, alone, finish):
        return
    matrices = (implicit_matrix_tile(target, each.sizes) for each in sums)
    if halves and _by_tiles(builder, implicit_on_matrices, sums, matrices, finish):
        return
    implicits = (implicit_tile(target, each.sizes, halves=halves, flat=is_flat(each)) for each in sums)
    if _by_tiles(builder, implicit, sums, implicits, finish):
        return
    strips = (depthwise_tile(target, each.sizes, bits, fours=in_fours(each)) for each in sums)
    if _by_tiles(builder, depthwise, sums, strips, finish):
        return
    directs = [direct_tile(target, each.sizes) for each in sums]
    if alone is not None and _multiply_windows(builder, convolution, alone, finish, no_direct=None in directs):
        return
    if _by_tiles(builder, direct, sums, directs, finish):
        return
    # The general kernel takes many times as long as a direct one on padded copies of parts of x.
    split = list(parts(convolution, target.max_region, copied=True))
    if split == [[convolution]]:
        general(builder, convolution, finish)
        return
    for summands in split:
        _sum_of(builder, summands, finish)


def _by_tiles(
    builder: ProgramBuilder,
    kernel: Callable[[ProgramBuilder, WindowedSum, _Tile, Expression], None],
    sums: Sequence[WindowedSum],
    tiles: Iterable[_Tile | None],
    finish: Expression,
) -> bool:
    """Run the kernel for all sums; return False if it has no tile for one of them."""
    found = []
    for tile in tiles:
        if tile is None:
            return False
        found.append(tile)
    for each, tile in zip(sums, found, strict=True):
        kernel(builder, each, tile, finish)
    return True


def _convolve_cheaply(builder: ProgramBuilder, sums: WindowedSum, finish: Expression) -> bool:
    """Compute windows of one element as products, and 3 x 3 windows by Winograd's algorithm; return False for others,
    and where that is slower."""
    target, bits = builder.target, DATA_TYPES[sums.result.data_type].bits
    if is_product(sums) and (is_one_matrix(sums) or not joins_images(target, sums.sizes, bits)):
        by_product(builder, sums, finish)
    elif is_strided_product(sums) and is_worth_thinning(target, sums.sizes):
        by_product(builder, thinned(builder, sums), finish, one_by_one=True)
    elif is_three_by_three(sums) and is_cheaper_by_winograd(target, sums.sizes):
        winograd(builder, sums, finish)
    else:
        return False
    return True


def _multiply_windows(
    builder: ProgramBuilder, convolution: Convolution, sums: WindowedSum, finish: Expression, *, no_direct: bool
) -> bool:
    """Compute a convolution as a product with its windows; return False where that is slower, or not possible."""
    target, sizes, bits = builder.target, sums.sizes, DATA_TYPES[sums.result.data_type].bits
    if no_direct and goes_by_rows(target, sizes, bits, padded=any(sums.windows.padding)):
        _along_rows(builder, convolution, finish)
        return True
    line = with_taps_as_channels(sums) if is_worth_multiplying(sizes, alone=no_direct) else None
    if line is None and is_worth_unfolding(target, sizes, bits, alone=no_direct):
        line = unfolded(builder, sums)
    if line is not None:
        by_product(builder, line, finish)
    return line is not None


def _along_rows(builder: ProgramBuilder, convolution: Convolution, finish: Expression) -> None:
    """Multiply a long filter along rows by windows of x, for a block of adjacent results at a time."""
    blocks = in_blocks_of_rows(builder, convolution)
    [sums] = windowed_sums(blocks) or []
    line = with_taps_as_channels(sums) or unfolded(builder, sums)
    assert line is not None  # blocks are packed
    by_product(builder, line, Leaf(0))
    from_blocks(builder, blocks.result, convolution, (1, 1, ROW_BLOCK), finish)


def _are_halves(convolution: Convolution) -> bool:
    operands = (convolution.x, convolution.weights, convolution.result)
    return all(operand.data_type == DML_TENSOR_DATA_TYPE_FLOAT16 for operand in operands)
