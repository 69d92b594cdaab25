"""Convolutions with one input channel per group: tiles in registers, without a copy of x."""

from __future__ import annotations

import numpy as np

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.convolution.windows import WindowedSum
from dml.compiler.operators.gemm.layout import vector_direction
from dml.compiler.operators.gemm.matmul import sum_type
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression
from dml.compiler.selection.convolution import DepthwiseTile
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32


def depthwise(builder: ProgramBuilder, sums: WindowedSum, tile: DepthwiseTile, finish: Expression) -> None:
    """Compute ``result = finish(sums)``. finish: the expression applied to each sum, which is its Leaf(0)."""
    sizes, windows, result = sums.sizes, sums.windows, sums.result
    kind, _ = sum_type(result)
    emitted = emit(finish, [kind], "finish")
    vectors = tile.fours and DATA_TYPES[result.data_type].bits == 32
    tensors = {"x": read(sums.x, vector=vectors), "filter": read(sums.weights), "result": write(result, vector=vectors)}
    if sums.bias is not None:
        tensors["bias"] = read(sums.bias)
    depth, height, width = sizes.places
    constants: dict[str, Constant] = {"GROUP_OUTPUTS": sizes.outputs, "TAPS_0": windows.taps[0]}
    constants |= {"MOVE_0": windows.strides[0], "DILATION_0": windows.dilations[0]}
    for d in range(3):
        constants |= {f"PADDING_{d}": np.int32(windows.padding[d]), f"FIRST_{d}": np.int32(windows.first[d])}
        constants[f"STEP_{d}"] = np.int32(windows.step[d])
    defines: dict[str, object] = {"TILE_Y": f"{tile.rows}u", "TILE_X": f"{tile.columns}u"}
    for d in (1, 2):
        defines |= {f"TAPS_{d}": f"{windows.taps[d]}u", f"MOVE_{d}": f"{windows.strides[d]}u"}
        defines |= {f"DILATION_{d}": f"{windows.dilations[d]}u", f"GAP_{d}": f"{tile.gaps[d - 1]}u"}
    builder.dispatch(
        "convolution/depthwise.comp",
        tensors,
        space=(*result.sizes[:2], depth, tile.tiles(height, 0), tile.tiles(width, 1)),
        constants={**constants, **emitted.constants},
        defines={
            **defines,
            "SUM_IS_INT": int(kind == "int"),
            "HAS_BIAS": int(sums.bias is not None),
            "FOURS": int(tile.fours),
            "PADDED": f"{max(0, windows.padding[2])}u",
            "RESULT_PAIRS": int(tile.columns % 2 == 0 and tile.gaps[1] == 1 and _stores_pairs(result)),
        },
        code=emitted.code,
        steps=windows.taps[0],
        each=tile.rows * tile.columns * windows.taps[1] * windows.taps[2],
    )


def in_fours(sums: WindowedSum) -> bool:
    """Whether rows of x and the result are multiples of four contiguous elements, and windows and taps move by one."""
    windows, operands = sums.windows, (sums.x, sums.result)
    kinds = {operand.data_type for operand in operands}
    fits = len(kinds) == 1 and kinds <= {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16}
    moves = windows.strides[2] == windows.dilations[2] == 1 and 0 <= windows.padding[2] < windows.taps[2]
    return fits and moves and all(vector_direction(operand, store=True) == "row" for operand in operands)


def _stores_pairs(result: Operand) -> bool:
    """Whether each pair of elements that starts at an even index has its own 32-bit word."""
    outer = [step for step, size in zip(result.strides[:-1], result.sizes[:-1], strict=True) if size > 1]
    even = not any(step % 2 for step in (result.base, result.sizes[-1], *outer))
    return DATA_TYPES[result.data_type].bits == 16 and result.strides[-1] == 1 and even
