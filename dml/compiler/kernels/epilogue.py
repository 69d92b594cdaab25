"""Epilogues: expressions that a graph applies to each value of an operator's result before it is stored.

A kernel knows the index at which it stores an element, but not always the element's coordinates. So the elements of an
epilogue's other operands are found from that index alone, as sums of quotients of the index; this is exact for every
layout whose dimensions nest (packed, in any order of dimensions, with gaps of whole inner dimensions).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from dml.compiler.data_types import DATA_TYPES, FLOAT32, DataType
from dml.compiler.kernels.expression import Emitted, emit
from dml.compiler.program import Epilogue, EpilogueOperand, Operand
from dml.compiler.scalar import Constant, Expression
from dml.enums import DML_TENSOR_DATA_TYPE

#: Size, result stride and operand stride of each dimension, outermost in memory first.
_Dimensions = list[tuple[int, int, int]]


def epilogue_of(
    expression: Expression, result: Operand, operands: Sequence[Operand], computed: DML_TENSOR_DATA_TYPE
) -> Epilogue | None:
    """Return the epilogue of an expression of the value (leaf 0) and the operands' elements (leaves 1, 2, ...).

    The operands broadcast to the sizes of ``result``. computed: data type of the values. None if the layout of
    ``result`` does not determine the operands' elements.
    """
    placed = []
    for operand in operands:
        own = _placed(result, operand.broadcast(result.sizes))
        if own is None:
            return None
        placed.append(own)
    return Epilogue(expression, tuple(placed), result.base, computed)


def _placed(result: Operand, operand: Operand) -> EpilogueOperand | None:
    """Return how to compute the index of the operand's element from the index of a result; None if that is not
    possible."""
    steps = _steps(result.sizes, result.strides, operand.strides)
    return None if steps is None else EpilogueOperand(operand, steps)


@lru_cache(maxsize=4096)
def _steps(
    sizes: tuple[int, ...], strides: tuple[int, ...], operand: tuple[int, ...]
) -> tuple[tuple[int, int, int], ...] | None:
    """Return the steps of an EpilogueOperand with the strides ``operand``, for a result of these sizes and strides."""
    dimensions = _dimensions(sizes, strides, operand)
    if all(step == stride for _, step, stride in dimensions):
        return ((0, 1, 1),)
    inside = 0
    for size, step, _ in reversed(dimensions):
        if step <= inside:
            return None
        inside += (size - 1) * step
    # The outermost dimension gets a period, too: a batch of one needs none, but so it has the kernel of larger batches
    size, step, _ = dimensions[0]
    periods = [size * step] + [step for _, step, _ in dimensions]
    # The remainder by a period determines the positions in inner dimensions only if the period is a multiple of theirs
    used = max((index for index, (_, _, stride) in enumerate(dimensions) if stride != 0), default=0)
    if any(outer % inner for outer, inner in itertools.pairwise(periods[: used + 1])):
        return None
    return tuple(
        (period, step, stride) for period, (_, step, stride) in zip(periods, dimensions, strict=False) if stride != 0
    )


def _dimensions(sizes: tuple[int, ...], strides: tuple[int, ...], operand: tuple[int, ...]) -> _Dimensions:
    """Return the dimensions in memory order, merged where result and operand traverse them as one dimension.

    Outer dimensions of size 1 are merged like others, so a batch of one shares the kernel of larger batches.
    """
    kept: _Dimensions = []
    inside = 0
    dimensions = zip(sizes, strides, operand, strict=True)
    for size, step, stride in sorted(dimensions, key=lambda dimension: dimension[1]):
        if size > 1 or (kept and step > inside):
            kept.append((size, step, stride))
            inside += (size - 1) * step
    merged: _Dimensions = []
    for size, step, stride in reversed(kept):
        if merged and merged[-1][1:] == (step * size, stride * size):
            merged[-1] = merged[-1][0] * size, step, stride
        else:
            merged.append((size, step, stride))
    return merged


def operand_name(name: str, number: int) -> str:
    """Return an epilogue operand's name in the kernel. name: the tensor with the epilogue."""
    return f"{name}_operand{number}"


def values_of(epilogue: Epilogue) -> DataType:
    """Return the data type of an epilogue's input: FLOAT32 for any float, since only the result is rounded."""
    computed = DATA_TYPES[epilogue.computed_type]
    return FLOAT32 if computed.kind == "float" else computed


def emit_epilogue(name: str, epilogue: Epilogue, types: Sequence[str], row: DataType) -> Emitted:
    """Return ``t_epilogue(v, i)`` for the value stored at index i. types: the operands' value types. row: the result's
    data type.

    It calls ``t_apply(v, ...)``, the expression, and ``t_operand0_index(i)``, the index of an operand's element. It is
    preceded by ``t_decoded(bits)``, the epilogue's input for these bits, and ``t_encoded(v)``, the bits of a result.
    """
    values = values_of(epilogue)
    emitted = emit(epilogue.expression, [values.glsl, *types], f"{name}_apply", row.glsl)
    constants: dict[str, Constant] = {**emitted.constants, f"{name}_ORIGIN": epilogue.origin}
    lines = [emitted.code]
    lines.append(f"{values.glsl} {name}_decoded(uint bits) {{ return {values.decode}; }}")
    lines.append(f"uint {name}_encoded({row.glsl} v) {{ return {row.encode}; }}")
    for number, operand in enumerate(epilogue.operands):
        own = operand_name(name, number)
        terms = [f"{own}_BASE"]
        for k, (period, step, stride) in enumerate(operand.steps):
            term = f"(i - {name}_ORIGIN)"
            if period != 0:
                constants[f"{own}_PERIOD_{k}"] = period
                term = f"remainder({term}, {own}_PERIOD_{k}_DIVISOR)"
            if step != 1:
                constants[f"{own}_STEP_{k}"] = step
                term = f"divided({term}, {own}_STEP_{k}_DIVISOR)"
            if stride != 1:
                constants[f"{own}_STRIDE_{k}"] = stride
                term += f" * {own}_STRIDE_{k}"
            terms.append(term)
        lines.append(f"uint {own}_index(uint i) {{ return {' + '.join(terms)}; }}")
    arguments = _arguments(name, epilogue)
    lines.append(f"{row.glsl} {name}_epilogue({values.glsl} v, uint i) {{ return {name}_apply({arguments}); }}")
    return Emitted("\n".join(lines), constants)


def _load(own: str, index: str) -> str:
    return f"{own}_load({own}_index({index}))"


def _arguments(name: str, epilogue: Epilogue) -> str:
    return ", ".join(["v"] + [_load(operand_name(name, k), "i") for k in range(len(epilogue.operands))])


def emit_finish_four(name: str, epilogue: Epilogue, types: Mapping[str, str], vectors: Callable[[str], bool]) -> str:
    """Return ``uvec4 t_finish_four(uvec4 bits, uint i)``: the epilogue of four adjacent 32-bit elements from index i.

    types: value types of the operands by name. vectors: which operands are bound and read as vectors.
    """
    lines = [f"uvec4 {name}_finish_four(uvec4 bits, uint i) {{"]
    each: list[list[str]] = [[f"{name}_decoded(bits.{c})"] for c in "xyzw"]
    for number, operand in enumerate(epilogue.operands):
        own = operand_name(name, number)
        if vectors(own):
            lines.append(f"    uvec4 b{number} = {own}_vector({own}_index(i) >> 2);")
            found = [f"{own}_decode(b{number}.{c})" for c in "xyzw"]
        elif operand.reads_one_for_four(epilogue.origin):
            lines.append(f"    {types[own]} b{number} = {_load(own, 'i')};")
            found = [f"b{number}"] * 4
        else:
            found = [_load(own, f"i + {k}u") for k in range(4)]
        for arguments, argument in zip(each, found, strict=True):
            arguments.append(argument)
    calls = ", ".join(f"{name}_encoded({name}_apply({', '.join(arguments)}))" for arguments in each)
    return "\n".join([*lines, f"    return uvec4({calls});", "}"])
