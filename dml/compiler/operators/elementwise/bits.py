"""Operators on the bits of elements: shifts, logic, bit counts, and the identity, which copies them."""

from __future__ import annotations

from collections.abc import Sequence

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES, UNSIGNED
from dml.compiler.lowering import elementwise, lowering
from dml.compiler.operators.elementwise.numeric import AB, numeric, scaled
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import elementwise as d
from dml.descriptors.base import OperatorDesc

# A shift by the width of the type or more gives 0.
numeric(d.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC, uint="shift_left($x0, $x1)",
        uint64="$x1.y != 0u ? uvec2(0u) : shift_left_64($x0, $x1.x)")  # fmt: skip
numeric(d.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC, uint="shift_right($x0, $x1)",
        uint64="$x1.y != 0u ? uvec2(0u) : shift_right_u64($x0, $x1.x)")  # fmt: skip


def bitwise(cls: type[OperatorDesc], inputs: Sequence[str], code: str) -> None:
    """Register an operator on the elements' bits, regardless of their data type."""

    @lowering(cls)
    def lower_bitwise(desc: OperatorDesc, builder: ProgramBuilder) -> None:
        operands = [builder[name] for name in (*inputs, "OutputTensor")]
        *sources, result = [operand.as_type(UNSIGNED[DATA_TYPES[operand.data_type].bits]) for operand in operands]
        glsl = DATA_TYPES[sources[0].data_type].glsl
        apply(builder, node(code, *(Leaf(i) for i in range(len(inputs))), glsl=glsl), result, sources)


bitwise(d.DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC, AB, "$x0 & $x1")
bitwise(d.DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC, AB, "$x0 | $x1")
bitwise(d.DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC, AB, "$x0 ^ $x1")
bitwise(d.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC, ["InputTensor"], "~$x0")


@lowering(d.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC)
def bit_count(desc: d.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source = builder["InputTensor"]
    bits = DATA_TYPES[source.data_type].bits
    code = "uint(bitCount($x0.x) + bitCount($x0.y))" if bits == 64 else "uint(bitCount($x0))"
    apply(builder, node(code, Leaf(0), glsl="uint"), builder["OutputTensor"], [source.as_type(UNSIGNED[bits])])


@elementwise(d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC, "InputTensor")
def identity(desc: d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC) -> Expression:
    return scaled(desc)


@lowering(d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC)
def copy_or_scale(desc: d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    if desc.ScaleBias is None:
        # Copied as bits, which preserves subnormals and NaN payloads.
        bits = UNSIGNED[DATA_TYPES[source.data_type].bits]
        source, result = source.as_type(bits), result.as_type(bits)
    apply(builder, identity(desc), result, [source])
