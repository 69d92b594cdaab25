"""Operators that compute elements from attributes and positions: fills, sequences, diagonals, one-hot encodings."""

from __future__ import annotations

import operator

import numpy as np

from dml.compiler.apply import raw
from dml.compiler.builder import ProgramBuilder, merge, merge_around
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import constant_words, encode, fill, merge_between, union_bits
from dml.compiler.parts import in_places
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.descriptors import movement as d
from dml.tensors import packed_strides


@lowering(d.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC)
def fill_value_constant(desc: d.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    fill(builder, builder["OutputTensor"], union_bits(desc.Value, desc.ValueDataType))


@lowering(d.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC)
def fill_value_sequence(desc: d.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Write ValueStart + i * ValueDelta. Integers wrap modulo 2^bits."""
    result = builder["OutputTensor"]
    constants: dict[str, Constant] = {}
    code = ""
    if DATA_TYPES[result.data_type].kind == "float":
        (result,) = merge(result)
        constants["START"] = float(desc.ValueStart.value(desc.ValueDataType))
        constants["DELTA"] = float(desc.ValueDelta.value(desc.ValueDataType))
    else:
        (result,) = merge(raw(result))
        for name, given in (("START", desc.ValueStart), ("DELTA", desc.ValueDelta)):
            value, words = constant_words(name, union_bits(given, desc.ValueDataType), result.data_type)
            constants.update(words)
            code += f"result_VALUE {name.lower()}() {{ return {value}; }}\n"
    strides = packed_strides(result.sizes)
    constants |= {f"STEP_{axis}": stride for axis, stride in enumerate(strides)}
    steps = "".join(f" + c[{axis}] * STEP_{axis}" for axis in range(result.rank))
    code += f"uint position(uint c[{result.rank}]) {{ return FIRST{steps}; }}"
    for start, (part,) in in_places([result], builder.target.max_region, range(result.rank)):
        own = {**constants, "FIRST": sum(map(operator.mul, start, strides))}
        builder.for_each("movement/fill_value_sequence.comp", part, {}, constants=own, code=code)


def _diagonal(
    builder: ProgramBuilder, result: Operand, source: Operand | None, bits: int, begin: int, end: int
) -> None:
    """Write ``bits`` where begin <= column - row < end (if end < begin: except where end <= column - row < begin);
    elsewhere the source or 0."""
    operands = {"result": raw(result)} if source is None else {"result": raw(result), "source": raw(source)}
    (row, column), merged = merge_between((result.rank - 2, result.rank - 1), *operands.values())
    value, words = constant_words("VALUE", bits, result.data_type)
    for first, part in in_places(merged, builder.target.max_region, range(merged[0].rank)):
        tensors = dict(zip(operands, part, strict=True))
        builder.for_each(
            "movement/diagonal_matrix.comp",
            tensors.pop("result"),
            tensors,
            constants={
                **words,
                "BEGIN": np.int32(begin),
                "END": np.int32(end),
                "FIRST_ROW": first[row],
                "FIRST_COLUMN": first[column],
            },
            defines={"ROW": row, "COLUMN": column, "HAS_SOURCE": len(tensors)},
            code=f"result_VALUE fill_value() {{ return {value}; }}",
        )


@lowering(d.DML_DIAGONAL_MATRIX_OPERATOR_DESC)
def diagonal_matrix(desc: d.DML_DIAGONAL_MATRIX_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result = builder["OutputTensor"]
    end = min(desc.Offset + 1, 2**31 - 1)
    _diagonal(builder, result, None, encode(desc.Value, result.data_type), desc.Offset, end)


@lowering(d.DML_DIAGONAL_MATRIX1_OPERATOR_DESC)
def diagonal_matrix1(desc: d.DML_DIAGONAL_MATRIX1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    bits = union_bits(desc.Value, desc.ValueDataType)
    _diagonal(
        builder, builder["OutputTensor"], builder.get("InputTensor"), bits, desc.DiagonalFillBegin, desc.DiagonalFillEnd
    )


@lowering(d.DML_ONE_HOT_OPERATOR_DESC)
def one_hot(desc: d.DML_ONE_HOT_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result, values = raw(builder["OutputTensor"]), raw(builder["ValuesTensor"])
    indices = builder["IndicesTensor"].broadcast(result.sizes)
    axis, (result, indices) = merge_around(desc.Axis, result, indices)
    both = values.view(result.sizes, (0,) * result.rank)  # which no part cuts
    # The second element is one step along the last dimension with more than one element.
    fastest = max(index for index, size in enumerate(values.sizes) if size > 1)
    builder.for_each(
        "movement/one_hot.comp",
        result,
        {"indices": indices, "values": both},
        constants={"ON": values.base + values.strides[fastest], "OFF": values.base, "AXIS_SIZE": result.sizes[axis]},
        defines={"AXIS": axis},
        split_axes=[dimension for dimension in range(result.rank) if dimension != axis],
    )
