"""Winograd's convolution with 3 x 3 windows: F(4x4, 3x3), 36 products for sixteen results instead of 144.

With dilation, results that are one dilation apart form a convolution without dilation.
"""

from __future__ import annotations

import numpy as np

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.convolution.geometry import three
from dml.compiler.operators.convolution.windows import WindowedSum
from dml.compiler.operators.gemm.layout import vector_direction, with_aligned_rows
from dml.compiler.operators.gemm.matmul import matmul
from dml.compiler.program import Operand, fast_replace
from dml.compiler.scalar import Constant, Expression
from dml.compiler.selection import stores_fours
from dml.compiler.selection.convolution import WINOGRAD_POINTS, WINOGRAD_WORKGROUP, WinogradGrid, winograd_grid
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32


def is_three_by_three(sums: WindowedSum) -> bool:
    """Whether the sums are floating-point sums over 3 x 3 windows that move by one, in a single group."""
    windows = sums.windows
    return (
        sums.weights.sizes[0] == 1
        and windows.taps == (1, 3, 3)
        and windows.strides == (1, 1, 1)
        and windows.padding[0] == 0
        and sums.x.sizes[2] == sums.result.sizes[2]
        and DATA_TYPES[sums.result.computed_type].kind == "float"
    )


def winograd(builder: ProgramBuilder, sums: WindowedSum, finish: Expression) -> None:
    """Compute ``result = finish(sums)`` if ``is_three_by_three``. finish: the expression applied to each sum, which is
    its Leaf(0).

    x and result are FLOAT32 or FLOAT16, sums accumulate in float32. An infinity in x makes the 4 x 4 results around it
    NaN.
    """
    grid = winograd_grid(sums.result.sizes[0], three(sums.result.sizes[2:]), sums.windows.dilations)
    weights, x = _weights_at_points(builder, sums), _input_at_points(builder, sums, grid)
    # Rows of the products are padded like those of the weights: matmul writes such rows fastest.
    products = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (WINOGRAD_POINTS, grid.count, weights.sizes[2]))
    matmul(builder, x, weights, None, products)
    _results_of_points(builder, sums, grid, products, finish)


def _weights_at_points(builder: ProgramBuilder, sums: WindowedSum) -> Operand:
    """Return the transformed weights {point, input channel, output channel}; the last output channel is repeated to pad
    rows to multiples of four.

    They are transformed in each run: storing them would take four times the memory of the filter.
    """
    _, outputs, inputs = sums.weights.sizes[:3]
    _, by_output, by_input, _, *window = sums.weights.strides
    weights = sums.weights.view((outputs, inputs, 3, 3), (by_output, by_input, *window))
    sizes = (WINOGRAD_POINTS, inputs, -(-outputs // 4) * 4)
    points = fast_replace(builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes), as_weights=True)
    builder.dispatch(
        "convolution/winograd_weights.comp",
        {"filter": read(weights), "result": write(points)},
        space=points.sizes[1:],
        each=WINOGRAD_POINTS,
        constants=sums.windows.taps_in_filter((1, 2)),
    )
    return points


def _input_at_points(builder: ProgramBuilder, sums: WindowedSum, grid: WinogradGrid) -> Operand:
    """Return the transformed input {point, tile, input channel}."""
    sizes = (WINOGRAD_POINTS, grid.count, sums.x.sizes[1])
    points = with_aligned_rows(builder, DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
    builder.dispatch(
        "convolution/winograd_input.comp",
        {"x": read(sums.x), "result": write(points)},
        space=points.sizes[1:],
        workgroup=WINOGRAD_WORKGROUP,
        each=WINOGRAD_POINTS,
        constants={**_tiles(sums, grid), **{f"PADDING_{d}": np.int32(sums.windows.padding[1 + d]) for d in range(2)}},
    )
    return points


def _results_of_points(
    builder: ProgramBuilder, sums: WindowedSum, grid: WinogradGrid, products: Operand, finish: Expression
) -> None:
    """Transform products {point, tile, output channel} into results."""
    emitted = emit(finish, ["float"], "finish")
    whole_words = DATA_TYPES[sums.result.data_type].bits == 32
    rows = vector_direction(sums.result, store=True) == "row" and (stores_fours(builder.target) or not whole_words)
    rows = rows and sums.windows.dilations[2] == 1
    wide = rows and whole_words
    tensors = {"products": read(products), "result": write(sums.result, vector=wide)}
    if sums.bias is not None:
        tensors["bias"] = read(sums.bias)
    builder.dispatch(
        "convolution/winograd_result.comp",
        tensors,
        space=(grid.count, sums.result.sizes[1]),
        workgroup=WINOGRAD_WORKGROUP,
        each=WINOGRAD_POINTS,
        constants={**_tiles(sums, grid), **emitted.constants},
        defines={"HAS_BIAS": int(sums.bias is not None), "RESULT_ROWS": int(rows), "RESULT_WIDE": int(wide)},
        code=emitted.code,
    )


def _tiles(sums: WindowedSum, grid: WinogradGrid) -> dict[str, Constant]:
    _, down, across = sums.windows.dilations
    return {"TILES_Y": grid.high, "TILES_X": grid.wide, "GAP_0": down, "GAP_1": across}
