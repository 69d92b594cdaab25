"""Winograd's convolution by windows of 3 x 3: F(4x4, 3x3), 36 products for sixteen results instead of 144."""

from __future__ import annotations

import math

import numpy as np

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.gemm.layout import quads
from dml.compiler.operators.gemm.matmul import matmul
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression
from dml.compiler.selection.gemm import product_cost
from dml.compiler.target import Target
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32

#: Points at which the transforms evaluate: six along either axis.
POINTS = 36
#: Invocations of the transforms' workgroups, beside each other along channels.
WORKGROUP = 32
#: Fewer channels than this on either side gain nothing, and few sums would hide how the transforms round.
FEWEST_CHANNELS = 16
#: What eight invocations of a transform cost, in multiplications of as many: reading and writing is most of it.
INPUT_COST, RESULT_COST = 5000.0, 2700.0
#: What fetching a transformed weight from memory costs. There are four times as many as the filter has.
WEIGHT_COST = 3.0


def _tiles(result: Operand) -> tuple[int, int, int]:
    """The tiles of a slice along height and width, and of all slices."""
    tiles_y, tiles_x = -(-result.sizes[3] // 4), -(-result.sizes[4] // 4)
    return tiles_y, tiles_x, result.sizes[0] * result.sizes[2] * tiles_y * tiles_x


def _row(columns: int) -> int:
    """Elements from one row of a temporary to the next."""
    return -(-columns // 4) * 4


def winograd_cost(target: Target, inputs: int, result: Operand) -> float:
    """What ``winograd`` costs, in the units of the direct kernel's plan; infinite where it is not to be used.

    Devices with registers and caches of their own would need costs of their own: none is known yet.
    """
    outputs, tiles = result.sizes[1], _tiles(result)[2]
    across = max(_row(inputs), _row(outputs))
    largest = 4 * POINTS * max(tiles * across, inputs * _row(outputs))
    if not target.is_cpu or min(inputs, outputs) < FEWEST_CHANNELS or largest > target.max_region:
        return math.inf
    transforms = tiles * (inputs * INPUT_COST + outputs * RESULT_COST) / 8
    weights = WEIGHT_COST * POINTS * inputs * outputs
    return transforms + weights + inputs * product_cost(target, tiles, outputs, POINTS)


def winograd(
    builder: ProgramBuilder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    padding: tuple[int, int],
    first: tuple[int, int],
    step: tuple[int, int],
    finish: Expression,
) -> None:
    """``result = finish(convolution of x with weights + bias)``.

    x and result are {batch, channel, depth, height, width} of FLOAT32 or FLOAT16, weights {output channel, input
    channel, 3, 3}, of which tap j of an axis is element ``first + step * j``. padding: before height and width; fewer
    than none cut x off. Sums accumulate in float32. An infinity in x makes NaN of the 4 x 4 results around it.
    """
    outputs, inputs = weights.sizes[:2]
    tiles_y, tiles_x, tiles = _tiles(result)

    def points(stage: ProgramBuilder, rows: int, columns: int) -> Operand:
        """{point, row, column}: rows begin at multiples of four elements, as matmul reads and writes them best."""
        return stage.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (POINTS, rows, _row(columns)))

    stage = builder.prepare(weights)
    filters = points(stage, inputs, outputs)
    stage.dispatch(
        "convolution/winograd_weights.comp",
        {"filter": read(weights), "result": write(filters)},
        space=filters.sizes[1:],
        each=POINTS,
        constants={f"FIRST_{d}": np.int32(first[d]) for d in range(2)}
        | {f"STEP_{d}": np.int32(step[d]) for d in range(2)},
    )
    spread = points(builder, tiles, inputs)
    spread = spread.view((POINTS, tiles, inputs), spread.strides)
    shape: dict[str, Constant] = {"TILES_Y": tiles_y, "TILES_X": tiles_x}
    builder.dispatch(
        "convolution/winograd_input.comp",
        {"x": read(x), "result": write(spread)},
        space=(tiles, inputs),
        workgroup=WORKGROUP,
        each=POINTS,
        constants={**shape, **{f"PADDING_{d}": np.int32(padding[d]) for d in range(2)}},
    )
    products = points(builder, tiles, outputs)
    matmul(builder, spread, filters, None, products)
    emitted = emit(finish, ["float"], "finish")
    rows = quads(result, store=True) == "row"
    wide = rows and DATA_TYPES[result.data_type].bits == 32
    tensors = {"products": read(products), "result": write(result, vector=wide)}
    if bias is not None:
        tensors["bias"] = read(bias)
    builder.dispatch(
        "convolution/winograd_result.comp",
        tensors,
        space=(tiles, outputs),
        workgroup=WORKGROUP,
        each=POINTS,
        constants={**shape, **emitted.constants},
        defines={"HAS_BIAS": int(bias is not None), "RESULT_ROWS": int(rows), "RESULT_WIDE": int(wide)},
        code=emitted.code,
    )
