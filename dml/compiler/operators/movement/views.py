"""Views of operands, from which operators that only move elements are built.

Strides and bases count modulo 2^32, as the shaders' index arithmetic does: a reversed dimension has the stride -n
modulo 2^32, and every element's index is still right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from dml import enums, shapes
from dml.compiler.apply import apply, raw
from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.parts import narrow
from dml.compiler.program import Operand, fast_replace
from dml.compiler.scalar import Constant, node
from dml.tensors import DML_SCALAR_UNION, nearest_float


def fill(builder: ProgramBuilder, result: Operand, bits: int) -> None:
    """Write the same element everywhere, given as its bit pattern."""
    if DATA_TYPES[result.data_type].bits == 64:
        value = node("uvec2($Low, $High)", glsl="uvec2", Low=bits & 0xFFFFFFFF, High=bits >> 32)
    else:
        value = node("$Bits", glsl="uint", Bits=bits)
    apply(builder, value, raw(result), [])


def window(operand: Operand, offsets: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Operand:
    """View every ``steps``-th element starting at ``offsets``, ``sizes`` of them; steps may be negative."""
    base = sum(offset * stride for offset, stride in zip(offsets, operand.strides, strict=True))
    strides = tuple(step * stride % 2**32 for step, stride in zip(steps, operand.strides, strict=True))
    return fast_replace(operand.view(tuple(sizes), strides, base), followed=True)


def part(operand: Operand, axis: int, offset: int, size: int) -> Operand:
    """View ``size`` elements along one dimension, starting at ``offset``."""
    return narrow(operand, (axis,), ((offset, size),))


def parts(operand: Operand, axis: int, sizes: Iterable[int]) -> list[Operand]:
    """View consecutive parts of these sizes along one dimension."""
    offset, found = 0, []
    for size in sizes:
        found.append(part(operand, axis, offset, size))
        offset += size
    return found


def split(operand: Operand, axis: int, sizes: Sequence[int]) -> Operand:
    """Split dimension ``axis`` into several, slowest first, whose sizes multiply to its own."""
    strides: list[int] = []
    step = operand.strides[axis]
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return operand.view(shapes.replaced(operand.sizes, axis, sizes), shapes.replaced(operand.strides, axis, strides))


def trailing(operand: Operand, rank: int) -> Operand:
    """View with ``rank`` dimensions: leading ones of size 1 are dropped or added."""
    return operand.view(shapes.trailing(operand.sizes, rank), shapes.trailing(operand.strides, rank, 0))


def volume(operand: Operand) -> Operand:
    """View {N, C, [depth], [height], width} as {N, C, depth, height, width}."""
    return operand.view(shapes.with_spatial(operand.sizes, 3), shapes.with_spatial(operand.strides, 3, 0))


def drop(operand: Operand, axis: int) -> Operand:
    """Drop a dimension of size 1."""
    return operand.view(shapes.without_axis(operand.sizes, axis), shapes.without_axis(operand.strides, axis))


def merge_between(keep: Iterable[int], *operands: Operand) -> tuple[tuple[int, ...], tuple[Operand, ...]]:
    """Merge dimensions as ``merge`` does, but keep those in ``keep`` separate.

    Returns the new positions of ``keep``, in their order, and the operands; at least one dimension remains. Operands
    have equal sizes except along ``keep``, where each has its own.
    """
    kept = sorted(set(keep))
    sizes: list[list[int]] = [[] for _ in operands]
    strides: list[list[int]] = [[] for _ in operands]
    places: list[int] = []
    start = 0
    for axis in (*kept, operands[0].rank):
        merged, merged_strides = merge_dimensions(
            operands[0].sizes[start:axis], [operand.strides[start:axis] for operand in operands]
        )
        for i in range(len(operands)):
            sizes[i].extend(merged)
            strides[i].extend(merged_strides[i])
        if axis < operands[0].rank:
            places.append(len(sizes[0]))
            for i, operand in enumerate(operands):
                sizes[i].append(operand.sizes[axis])
                strides[i].append(operand.strides[axis])
        start = axis + 1
    if not sizes[0]:
        return (), tuple(operand.view((1,), (1,)) for operand in operands)
    return tuple(places), tuple(operand.view(tuple(sizes[i]), tuple(strides[i])) for i, operand in enumerate(operands))


def encode(value: float, data_type: enums.DML_TENSOR_DATA_TYPE) -> int:
    """Return the bits of a FLOAT attribute in a data type. Integers take its truncated value, clamped to their limits;
    NaN gives 0."""
    row = DATA_TYPES[data_type]
    value = nearest_float(value)
    if row.is_floating:
        with np.errstate(over="ignore"):
            return int.from_bytes(np.asarray(value).astype(row.dtype).tobytes(), "little")
    whole = 0 if math.isnan(value) else int(min(max(value, row.lowest), row.highest))
    return whole % (1 << row.bits)


def union_bits(value: DML_SCALAR_UNION, data_type: enums.DML_TENSOR_DATA_TYPE) -> int:
    """Return a scalar union's bits for a data type of at least 8 bits."""
    return int.from_bytes(value.Bytes[: DATA_TYPES[data_type].bits // 8], "little")


def constant_words(name: str, bits: int, data_type: enums.DML_TENSOR_DATA_TYPE) -> tuple[str, dict[str, Constant]]:
    """Return GLSL for an element given by its bits, as the unsigned value that ``raw`` operands have, and its
    constants."""
    if DATA_TYPES[data_type].bits == 64:
        return f"uvec2({name}_LOW, {name}_HIGH)", {f"{name}_LOW": bits & 0xFFFFFFFF, f"{name}_HIGH": bits >> 32}
    return name, {name: bits}
