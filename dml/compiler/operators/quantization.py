"""QUANTIZE and DEQUANTIZE, with a scale and zero point per block, and DYNAMIC_QUANTIZE_LINEAR.

Quotients are rounded as in ELEMENT_WISE_QUANTIZE_LINEAR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.kinds import MATH
from dml.compiler.lowering import lowering
from dml.compiler.operators.elementwise.linear_quantization import moved
from dml.compiler.operators.movement.views import split
from dml.compiler.operators.reduction.engine import reduce
from dml.compiler.operators.reduction.monoids import FLOAT_MIN, Monoid
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import quantization as d

DYNAMIC = "quantization/dynamic.glsl"


def _quantize(
    builder: ProgramBuilder, result: Operand, source: Operand, scale: Operand, zero_point: Operand | None
) -> None:
    """Compute clamp(round(source / scale) + zero point)."""
    to = DATA_TYPES[result.data_type]
    rounded = node("round_quotient($x0, $x1)", Leaf(0), Leaf(1), includes=[MATH])
    whole = moved(rounded, None if zero_point is None else Leaf(2))
    limited = node("clamp($x0, $Low, $High)", whole, glsl="int", Low=np.int32(to.lowest), High=np.int32(to.highest))
    inputs = [source, scale] if zero_point is None else [source, scale, zero_point]
    apply(builder, limited, result, inputs)


def _by_block(whole: list[Operand], per_block: Sequence[Operand]) -> tuple[list[Operand], list[Operand]]:
    """Split operands of equal sizes and operands with one value per block into dimensions over which the latter
    repeat."""
    sizes, counts = whole[0].sizes, per_block[0].sizes
    per_block = list(per_block)
    for axis in reversed(range(len(sizes))):
        size, count = sizes[axis], counts[axis]
        if count in (1, size):
            continue
        whole = [split(operand, axis, (count, size // count)) for operand in whole]
        per_block = [split(operand, axis, (count, 1)) for operand in per_block]
    return whole, per_block


@lowering(d.DML_QUANTIZE_OPERATOR_DESC)
def quantize(desc: d.DML_QUANTIZE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    (result, source), (scale, *zero_points) = _by_block(
        [builder["OutputTensor"], builder["InputTensor"]], builder.array("QuantizationTensors")
    )
    _quantize(builder, result, source, scale, zero_points[0] if zero_points else None)


@lowering(d.DML_DEQUANTIZE_OPERATOR_DESC)
def dequantize(desc: d.DML_DEQUANTIZE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    dequantize_blocks(builder, builder["OutputTensor"], builder["InputTensor"], builder.array("QuantizationTensors"))


def dequantize_blocks(builder: ProgramBuilder, result: Operand, source: Operand, per_block: Sequence[Operand]) -> None:
    """Compute ``result = (source - zero point) * scale``. per_block: the scale and optionally the zero point, whose
    sizes divide the source's."""
    (result, source), (scale, *zero_points) = _by_block([result, source], per_block)
    whole: Expression = node("int($x0)", Leaf(0), glsl="int")
    if zero_points:
        whole = node("$x0 - int($x1)", whole, Leaf(2), glsl="int")
    apply(builder, node("float($x0) * $x1", whole, Leaf(1)), result, [source, scale, *zero_points])


#: The smallest and the largest element, with 0 included.
RANGE = Monoid(
    "vec2",
    "vec2(0.0)",
    "vec2(reduce_min(a.x, b.x), reduce_max(a.y, b.y))",
    ("floatBitsToUint($x0.x)", "floatBitsToUint($x0.y)"),
    "vec2(uintBitsToFloat($x0), uintBitsToFloat($x1))",
    FLOAT_MIN.includes,
)


@lowering(d.DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC)
def dynamic_quantize_linear(desc: d.DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Quantize by the range of the elements, extended to include 0, as in the ONNX operator that the page restates: its
    zero point must be exact.

    The zero point is rounded to nearest. If every element is 0, the scale is 1.
    """
    source, result = builder["InputTensor"], builder["OutputTensor"]
    scale, zero_point = builder["OutputScaleTensor"], builder["OutputZeroPointTensor"]
    to = DATA_TYPES[result.data_type]
    limits = {"Low": float(to.lowest), "High": float(to.highest)}
    found = node("dynamic_zero_point($x0, $Low, $High)", Leaf(0), glsl="int", includes=[DYNAMIC], **limits)
    results: list[tuple[Operand, Expression]] = [
        (scale, node("dynamic_scale($x0)", Leaf(0), includes=[DYNAMIC])),
        (zero_point, node(f"{to.glsl}($x0)", found, glsl=to.glsl)),
    ]
    element = node("vec2($x0)", Leaf(0), glsl="vec2")
    reduce(builder, RANGE, [source], range(source.rank), results, element)
    _quantize(builder, result, source, scale, zero_point)
