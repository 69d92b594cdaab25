"""Convolutions: forward and backward (transposed), over one to three dimensions, of floats and of integers.

Every convolution is brought to three spatial dimensions. It then is a product of matrices (1 x 1), a sum kept in
registers over a padded copy of the input (``direct``), or, where neither fits, one invocation per element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dml.compiler.activation import activate
from dml.compiler.builder import Builder
from dml.compiler.expression import Expression, Leaf, emit
from dml.compiler.gemm import along_dimension, requantize, without_zero_point
from dml.compiler.kernel import VALUE_TYPES, Constant
from dml.compiler.lowering import lowering
from dml.compiler.program import Operand
from dml.compiler.target import Target
from dml.descriptors.convolution import (
    DML_CONVOLUTION_INTEGER_OPERATOR_DESC,
    DML_CONVOLUTION_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
)
from dml.enums import (
    DML_CONVOLUTION_DIRECTION_BACKWARD,
    DML_CONVOLUTION_MODE_CONVOLUTION,
    DML_TENSOR_DATA_TYPE_INT32,
)

Three = tuple[int, int, int]


@dataclass(frozen=True)
class Geometry:
    """How windows lie, for depth, height and width. output_padding: results that no window of a forward one makes."""

    strides: Three
    dilations: Three
    padding: Three
    output_padding: Three
    groups: int
    backward: bool = False
    flipped: bool = False

    @staticmethod
    def of(desc: Any) -> Geometry:
        def three(values: tuple[int, ...], missing: int) -> Three:
            z, y, x = (missing,) * (3 - len(values)) + values
            return z, y, x

        return Geometry(
            three(desc.Strides, 1),
            three(desc.Dilations, 1),
            three(desc.StartPadding, 0),
            three(getattr(desc, "OutputPadding", ()), 0),
            desc.GroupCount,
            getattr(desc, "Direction", None) == DML_CONVOLUTION_DIRECTION_BACKWARD,
            getattr(desc, "Mode", None) == DML_CONVOLUTION_MODE_CONVOLUTION,
        )


def in_three_dimensions(tensor: Operand) -> Operand:
    """{a, b, [depth], [height], width} as {a, b, depth, height, width}."""
    missing = 5 - tensor.rank
    sizes, strides = tensor.sizes, tensor.strides
    return tensor.view((*sizes[:2], *(1,) * missing, *sizes[2:]), (*strides[:2], *(0,) * missing, *strides[2:]))


def convolve(
    program: Builder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    geometry: Geometry,
    finish: Expression,
) -> None:
    """``result = finish(convolution of x with weights + bias)``; the operands have five dimensions.

    Floats accumulate in float32, INT32 modulo 2^32 (then without bias). finish: an expression of Leaf(0), the sum.
    """
    _general(program, x, weights, bias, result, geometry, finish)


def _general(
    program: Builder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    geometry: Geometry,
    finish: Expression,
) -> None:
    kind = "int" if VALUE_TYPES[result.data_type].kind == "int" else "float"
    emitted = emit(finish, [kind], "finish")
    constants: dict[str, Constant] = {
        "GROUP_INPUTS": x.sizes[1] // geometry.groups,
        "GROUP_OUTPUTS": result.sizes[1] // geometry.groups,
    }
    for d in range(3):
        constants[f"TAPS_{d}"] = weights.sizes[2 + d]
        constants[f"MOVE_{d}"] = geometry.strides[d]
        constants[f"DILATION_{d}"] = geometry.dilations[d]
        constants[f"PADDING_{d}"] = geometry.padding[d]
        constants[f"LIMIT_{d}"] = result.sizes[2 + d] - (0 if geometry.backward else geometry.output_padding[d])
    tensors = {"x": x, "filter": weights}
    if bias is not None:
        tensors["bias"] = bias.broadcast(result.sizes)
    program.for_each(
        "convolution/general.comp",
        result,
        tensors,
        constants={**constants, **emitted.constants},
        defines={
            "SUM": kind,
            "BACKWARD": int(geometry.backward),
            "FLIPPED": int(geometry.flipped),
            "HAS_BIAS": int(bias is not None),
        },
        code=emitted.code,
    )


@lowering(DML_CONVOLUTION_OPERATOR_DESC)
def convolution(desc: DML_CONVOLUTION_OPERATOR_DESC, program: Builder, target: Target) -> None:
    bias = program.get("BiasTensor")
    convolve(
        program,
        in_three_dimensions(program["InputTensor"]),
        in_three_dimensions(program["FilterTensor"]),
        None if bias is None else in_three_dimensions(bias),
        in_three_dimensions(program["OutputTensor"]),
        Geometry.of(desc),
        activate(desc.FusedActivation),
    )


@lowering(DML_CONVOLUTION_INTEGER_OPERATOR_DESC)
def convolution_integer(desc: DML_CONVOLUTION_INTEGER_OPERATOR_DESC, program: Builder, target: Target) -> None:
    _integer_sums(desc, program, program["OutputTensor"])


def _integer_sums(desc: Any, program: Builder, result: Operand) -> None:
    """The convolution of the input and the filter less their zero points. Padding is a real zero."""
    x = without_zero_point(program, program["InputTensor"], program.get("InputZeroPointTensor"), 1)
    weights = without_zero_point(program, program["FilterTensor"], program.get("FilterZeroPointTensor"), 0)
    x, weights, result = (in_three_dimensions(tensor) for tensor in (x, weights, result))
    convolve(program, x, weights, None, result, Geometry.of(desc), Leaf(0))


@lowering(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC)
def quantized_linear_convolution(
    desc: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, program: Builder, target: Target
) -> None:
    """The bias is in units of InputScale x FilterScale."""
    result = program["OutputTensor"]
    sums = program.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
    _integer_sums(desc, program, sums)
    input_scale, filter_scale, output_scale = (
        along_dimension(program[name], result.rank, 1)
        for name in ("InputScaleTensor", "FilterScaleTensor", "OutputScaleTensor")
    )
    zero_point = program.get("OutputZeroPointTensor")
    if zero_point is not None:
        zero_point = along_dimension(zero_point, result.rank, 1)
    scales = (input_scale, filter_scale, output_scale)
    requantize(program, sums, scales, zero_point, program.get("BiasTensor"), result, desc.OutputTensor)
