"""The direct kernel: sums in registers over a padded copy of x, with weights laid out for it."""

from __future__ import annotations

import math

import numpy as np

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES, VECTOR_BITS, WORD_BITS
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.convolution.windows import WindowedSum
from dml.compiler.operators.gemm.layout import vector_direction
from dml.compiler.operators.gemm.matmul import sum_type
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression
from dml.compiler.selection import keeps_fours, lanes, stores_fours
from dml.compiler.selection.convolution import DirectTile, lays_weights_in_fours, stores_in_loops
from dml.compiler.selection.stored_weights import keeps_wider
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT16


def direct(builder: ProgramBuilder, sums: WindowedSum, tile: DirectTile, finish: Expression) -> None:
    """Compute ``result = finish(sums)``. finish: the expression applied to each sum, which is its Leaf(0)."""
    x, weights = _padded(builder, sums, tile), _tiled_weights(builder, sums, tile)
    _sums(builder, sums, tile, x, weights, finish)


def _padded(builder: ProgramBuilder, sums: WindowedSum, tile: DirectTile) -> Operand:
    """Return a padded copy of x that contains all windows, in 32-bit words, with rows that begin at multiples of four
    elements."""
    _, words = sum_type(sums.result)
    padded = builder.temporary(words, tile.padded)
    builder.walk(
        "convolution/pad.comp",
        {"x": read(sums.x), "result": write(padded, vector=True)},
        padded.count // 4,
        space=(*tile.padded[:4], tile.padded[4] // 4),
        rounds=4,
        constants={f"PADDING_{d}": np.int32(sums.windows.padding[d]) for d in range(3)},
        defines={"WHOLE_WORDS": 0},
    )
    return padded


def _tiled_weights(builder: ProgramBuilder, sums: WindowedSum, tile: DirectTile) -> Operand:
    """Return {tile of output channels, input channel, window, output channel in the tile}; prepared once if static.

    Large FLOAT16 weights stay FLOAT16.
    """
    groups, outputs, inputs = sums.weights.sizes[:3]
    tiles = groups * -(-outputs // tile.channels)
    stage = builder.prepare(sums.weights)
    is_half = sums.weights.data_type == DML_TENSOR_DATA_TYPE_FLOAT16
    keeps = is_half and not keeps_wider("direct convolution", 2 * sums.weights.count)
    words = DML_TENSOR_DATA_TYPE_FLOAT16 if keeps else sum_type(sums.result)[1]
    tiled = stage.temporary(words, (tiles, inputs, *sums.windows.taps, tile.channels))
    *planes_and_rows, taps = sums.windows.taps
    if lays_weights_in_fours(builder.target) and _has_kernel_layout(sums):
        length = inputs * math.prod(sums.windows.taps)
        rows = sums.weights.view((groups, outputs, length), (*sums.weights.strides[:2], 1))
        aligned = not any(number % 4 for number in (length, rows.base, *rows.strides[:2]))
        stage.dispatch(
            "convolution/weights_in_fours.comp",
            {"filter": read(rows, vector=True), "result": write(tiled)},
            space=(tiles, -(-length // 4), tile.channels),
            constants={"LENGTH": length, "TILES": tiles // groups, "ALIGNED": aligned},
            each=4,
        )
        return tiled
    stage.dispatch(
        "convolution/weights.comp",
        {"filter": read(sums.weights), "result": write(tiled)},
        space=(tiles, inputs, *planes_and_rows, tile.channels),
        steps=taps,
        constants={"TAPS": taps, "TILES": tiles // groups, **sums.windows.taps_in_filter()},
    )
    return tiled


def _has_kernel_layout(sums: WindowedSum) -> bool:
    """Whether each output channel's elements are contiguous and 32-bit, as the kernel needs."""
    weights, windows = sums.weights, sums.windows
    rows = weights.view(weights.sizes[2:], weights.strides[2:])
    return (
        DATA_TYPES[weights.data_type].bits == DATA_TYPES[sum_type(sums.result)[1]].bits == WORD_BITS
        and rows.is_packed
        and windows.first == (0, 0, 0)
        and windows.step == (1, 1, 1)
        and weights.sizes[3:] == windows.taps
        and weights.region.size % (VECTOR_BITS // 8) == 0
    )


def _sums(
    builder: ProgramBuilder, sums: WindowedSum, tile: DirectTile, x: Operand, weights: Operand, finish: Expression
) -> None:
    kind, _ = sum_type(sums.result)
    result, windows, sizes = sums.result, sums.windows, sums.sizes
    emitted = emit(finish, [kind], "finish")
    fours = stores_fours(builder.target) and DATA_TYPES[result.data_type].bits == 32
    wide = fours and vector_direction(result, store=True) == "row"
    wide_weights = tile.channels % 4 == 0
    halves = weights.data_type == DML_TENSOR_DATA_TYPE_FLOAT16
    tensors = {
        "x": read(x, vector=True),
        "weights": read(weights, vector=wide_weights and not halves),
        "result": write(result, vector=wide),
    }
    if sums.bias is not None:
        tensors["bias"] = read(sums.bias)
    constants: dict[str, Constant] = {"GROUP_INPUTS": sizes.inputs, "GROUP_OUTPUTS": sizes.outputs}
    constants |= {"TAPS_DEEP": windows.taps[0], "TAPS_HIGH": windows.taps[1]}
    constants |= {f"MOVE_{d}": windows.strides[d] for d in range(2)}
    constants |= {f"DILATION_{d}": windows.dilations[d] for d in range(2)}
    depth, height, width = sizes.places
    tiles = weights.sizes[0] // sizes.groups, -(-height // tile.rows), -(-width // tile.columns)
    builder.dispatch(
        "convolution/direct.comp",
        tensors,
        space=(sizes.groups, tiles[0], sizes.batch, depth, *tiles[1:]),
        workgroup=lanes(builder.target),
        constants={**constants, **emitted.constants},
        defines={
            "TILE_C": f"{tile.channels}u",
            "TILE_Y": f"{tile.rows}u",
            "TILE_X": f"{tile.columns}u",
            "SPAN": f"{tile.span}u",
            "TAPS": f"{windows.taps[2]}u",
            "MOVE_2": f"{windows.strides[2]}u",
            "DILATION_2": f"{windows.dilations[2]}u",
            "SUM_IS_INT": int(kind == "int"),
            "SUMS_IN_FOURS": int(keeps_fours(builder.target)),
            "WEIGHTS_WIDE": int(wide_weights),
            "WEIGHTS_HALVES": int(wide_weights and halves),
            "RESULT_WIDE": int(wide),
            "HAS_BIAS": int(sums.bias is not None),
            "STORES_IN_LOOPS": int(stores_in_loops(builder.target)),
        },
        code=emitted.code,
        steps=sizes.rows_of_taps,
        each=tile.sums * windows.taps[2],
    )
