"""Implicit GEMM, for GPUs: the product of the filter with windows that are gathered into shared memory."""

from __future__ import annotations

import math

import numpy as np

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.float_modes import half_arithmetic
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.operators.convolution.windows import WindowedSum
from dml.compiler.operators.gemm.matmul import sum_type
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf
from dml.compiler.selection.convolution import ImplicitMatrixTile, ImplicitTile, puts_channels_last
from dml.compiler.selection.devices import finds_places_first, has_few_registers, keeps, loads_ahead
from dml.compiler.selection.product_tiles import MATRIX_UNITS
from dml.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_DATA_TYPE_FLOAT16


def implicit(builder: ProgramBuilder, sums: WindowedSum, tile: ImplicitTile, finish: Expression) -> None:
    """Compute ``result = finish(sums)``. finish: the expression applied to each sum, which is its Leaf(0)."""
    kind, words = sum_type(sums.result)
    one_tap = sums.sizes.inputs % tile.tile_k == 0
    bits = DATA_TYPES[sums.result.data_type].bits
    fours = bits in (16, 32) and stores_fours(sums.result)
    loads_fours = tile.tile_k * tile.places % (4 * tile.workgroup) == 0
    x_fours = one_tap and loads_fours and DATA_TYPES[sums.x.data_type].bits == 32 and _reads_channels(sums.x, 4)
    # Without ``fours``, the addresses of four results take registers while vectors of x and the filter are loaded
    # (V3D).
    x_fours = x_fours and (fours or keeps(builder.target, 12))
    steps = tile.half_steps
    halves = bool(steps) or sums.weights.data_type == DML_TENSOR_DATA_TYPE_FLOAT16
    matrix = _matrix(builder, sums, DML_TENSOR_DATA_TYPE_FLOAT16 if halves else words, tile.tile_k)
    tensors = {
        "x": read(sums.x, vector=x_fours),
        "filter": read(matrix, vector=not halves),
        "result": write(sums.result, vector=fours and bits == 32),
    }
    defines = {
        "FOURS_M": f"{tile.fours[0]}u",
        "FOURS_N": f"{tile.fours[1]}u",
        "SUM_IS_INT": int(kind == "int"),
        "HALF_STEPS": steps,
        "HALVES": int(halves),
        "ONE_TAP": int(one_tap),
        "FLAT": int(is_flat(sums)),
        "X_FOURS": int(x_fours),
        "RESULT_FOURS": int(fours),
        "RESULT_WIDE": int(fours and bits == 32),
        "PLACES_FIRST": int(finds_places_first(builder.target)),
        "LOADS_AHEAD": int(loads_ahead(builder.target)),
        "SPARE_ROWS": int(has_few_registers(builder.target)),
    }
    _dispatch(builder, "convolution/implicit.comp", sums, tile, tensors, defines, finish)


def implicit_on_matrices(
    builder: ProgramBuilder, sums: WindowedSum, tile: ImplicitMatrixTile, finish: Expression
) -> None:
    """Like ``implicit``, for FLOAT16 tensors on matrix units."""
    one_tap = sums.sizes.inputs % tile.tile_k == 0
    x = sums.x
    if one_tap and not _reads_channels(x, 8) and puts_channels_last(builder.target, sums.sizes, 2 * x.count):
        x = _with_channels_last(builder, x)
    x_eights = one_tap and _reads_channels(x, 8)
    tensors = {
        "x": read(x, vector=x_eights),
        "filter": read(_matrix(builder, sums, DML_TENSOR_DATA_TYPE_FLOAT16, tile.tile_k, k_last=True), vector=True),
        "result": write(sums.result),
    }
    defines = {
        "SUB_M": f"{tile.subgroup_tile[0]}u",
        "SUB_N": f"{tile.subgroup_tile[1]}u",
        **{f"MATRIX_{axis}": f"{size}u" for axis, size in zip("MNK", tile.shape, strict=True)},
        "SUM_IS_INT": 0,
        "ONE_TAP": int(one_tap),
        "FLAT": int(is_flat(sums)),
        "X_EIGHTS": int(x_eights),
        "RESULT_FOURS": int(stores_fours(sums.result)),
    }
    _dispatch(builder, "convolution/implicit_matrix.comp", sums, tile, tensors, defines, finish)


def _dispatch(
    builder: ProgramBuilder,
    kernel: str,
    sums: WindowedSum,
    tile: ImplicitTile | ImplicitMatrixTile,
    tensors: dict[str, Bound],
    defines: dict[str, object],
    finish: Expression,
) -> None:
    sizes, windows = sums.sizes, sums.windows
    kind, _ = sum_type(sums.result)
    emitted = emit(finish, [kind], "finish")
    steps = tile.half_steps if isinstance(tile, ImplicitTile) else 0
    if sums.bias is not None:
        tensors["bias"] = read(sums.bias)
    places = sizes.batch * math.prod(sizes.places)
    constants: dict[str, Constant] = {"GROUPS": sizes.groups, "GROUP_INPUTS": sizes.inputs}
    constants |= {"GROUP_OUTPUTS": sizes.outputs, "PLACES": places, "K_ALL": sizes.products}
    for d in range(3):
        constants |= {f"TAPS_{d}": windows.taps[d], f"MOVE_{d}": windows.strides[d]}
        constants |= {f"DILATION_{d}": windows.dilations[d], f"PADDING_{d}": np.int32(windows.padding[d])}
    k = _padded_products(sums, tile.tile_k)
    together = tile.tile_k * tile.channels * tile.places // tile.workgroup
    builder.dispatch(
        kernel,
        tensors,
        groups=sizes.groups * -(-sizes.outputs // tile.channels) * -(-places // tile.places),
        workgroup=tile.workgroup,
        constants={**constants, **emitted.constants},
        defines={
            "TILE_M": f"{tile.channels}u",
            "TILE_N": f"{tile.places}u",
            "TILE_K": f"{tile.tile_k}u",
            "TABLE": tile.table,
            "HAS_BIAS": int(sums.bias is not None),
            **defines,
        },
        push={"K": k},  # not a constant, for the reason in gemm/shared.comp
        code=half_arithmetic(steps) + emitted.code,
        steps=k // tile.tile_k,
        each=-(-together // MATRIX_UNITS) if isinstance(tile, ImplicitMatrixTile) else together,
    )


def is_flat(sums: WindowedSum) -> bool:
    """Whether windows are one element deep and never outside x along the depth."""
    windows, depth = sums.windows, sums.sizes.places[0]
    last = (depth - 1) * windows.strides[0]
    return windows.taps[0] == 1 and windows.padding[0] == 0 and last < sums.x.sizes[2]


def _matrix(
    builder: ProgramBuilder, sums: WindowedSum, data_type: DML_TENSOR_DATA_TYPE, tile_k: int, *, k_last: bool = False
) -> Operand:
    """Return the filter as {group, k, output channel} or, with ``k_last``, {group, output channel, k}; prepared once if
    static.

    k: window element and input channel. Output channels that come last are padded to a multiple of four.
    """
    sizes, windows = sums.sizes, sums.windows
    stage = builder.prepare(sums.weights)
    deep = _padded_products(sums, tile_k)
    rows = (sizes.outputs, deep) if k_last else (deep, -(-sizes.outputs // 4) * 4)
    matrix = stage.temporary(data_type, (sizes.groups, *rows))
    stage.for_each(
        "convolution/filter.comp",
        matrix,
        {"filter": sums.weights},
        constants={"K_ALL": sizes.products, "TAPS_1": windows.taps[1], "TAPS_2": windows.taps[2]}
        | windows.taps_in_filter(),
        defines={"K_LAST": int(k_last)},
    )
    return matrix


def _padded_products(sums: WindowedSum, tile_k: int) -> int:
    """Return the products of a sum, padded to whole steps of ``tile_k``."""
    return -(-sums.sizes.products // tile_k) * tile_k


def _with_channels_last(builder: ProgramBuilder, x: Operand) -> Operand:
    """Return a copy of x with contiguous channels."""
    images, channels, *places = x.sizes
    whole = builder.temporary(x.data_type, (images, *places, channels))
    copy = whole.view(x.sizes, (whole.strides[0], 1, *whole.strides[1:-1]))
    apply(builder, Leaf(0), copy, [x])
    return copy


def _reads_channels(x: Operand, together: int) -> bool:
    """Whether ``together`` adjacent channels can be read as an aligned vector."""
    others = [stride for d, (stride, size) in enumerate(zip(x.strides, x.sizes, strict=True)) if d != 1 and size > 1]
    return x.strides[1] == 1 and not any(step % together for step in (x.base, *others))


def stores_fours(result: Operand) -> bool:
    """Whether each aligned group of four positions, numbered across images, can be stored as an aligned vector."""
    batch, channel, *steps = result.strides
    images, channels, *places = result.sizes
    run, inner = 1, list(zip(steps, places, strict=True))
    while inner and (inner[-1][1] == 1 or inner[-1][0] == run):
        run *= inner.pop()[1]
    outer = [step for step, size in ((batch, images), (channel, channels), *inner) if size > 1]
    return run % 4 == 0 and not any(step % 4 for step in (result.base, *outer))
