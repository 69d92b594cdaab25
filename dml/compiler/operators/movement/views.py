"""Views of operands: what operators that only move elements are made of.

Strides and bases count modulo 2^32, as the shaders' index arithmetic does: a dimension that runs backwards has the
stride -n modulo 2^32, and the index of every element still comes out right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dml import enums, shapes
from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.kernels.expression import Leaf, apply, node
from dml.compiler.kernels.prelude import VALUE_TYPES, Constant, read, update, write
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.tensors import DML_SCALAR_UNION, numpy_dtype

_UNSIGNED = {
    4: enums.DML_TENSOR_DATA_TYPE_UINT4,
    8: enums.DML_TENSOR_DATA_TYPE_UINT8,
    16: enums.DML_TENSOR_DATA_TYPE_UINT16,
    32: enums.DML_TENSOR_DATA_TYPE_UINT32,
    64: enums.DML_TENSOR_DATA_TYPE_UINT64,
}


def raw(operand: Operand) -> Operand:
    """The same elements as unsigned integers, so that moving them changes no bit, whatever the device does to NaN."""
    return operand.as_type(_UNSIGNED[VALUE_TYPES[operand.data_type].bits])


def copy(builder: ProgramBuilder, result: Operand, source: Operand) -> None:
    """Write the source's elements to the result; equal sizes, any strides, one data type."""
    apply(builder, Leaf(0), raw(result), [raw(source)])


def fill(builder: ProgramBuilder, result: Operand, bits: int) -> None:
    """Write the same element everywhere, given as its bit pattern."""
    if VALUE_TYPES[result.data_type].bits == 64:
        value = node("uvec2($Low, $High)", glsl="uvec2", Low=bits & 0xFFFFFFFF, High=bits >> 32)
    else:
        value = node("$Bits", glsl="uint", Bits=bits)
    apply(builder, value, raw(result), [])


def window(operand: Operand, offsets: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Operand:
    """Every ``steps``-th element from ``offsets`` on, ``sizes`` of them; steps may be negative."""
    base = sum(offset * stride for offset, stride in zip(offsets, operand.strides, strict=True))
    strides = tuple(step * stride % 2**32 for step, stride in zip(steps, operand.strides, strict=True))
    return operand.view(tuple(sizes), strides, base)


def part(operand: Operand, axis: int, offset: int, size: int) -> Operand:
    """``size`` elements along one dimension, from ``offset`` on."""
    sizes = shapes.with_size(operand.sizes, axis, size)
    return operand.view(sizes, operand.strides, offset * operand.strides[axis])


def split(operand: Operand, axis: int, sizes: Sequence[int]) -> Operand:
    """Dimension ``axis`` as several, slowest first, whose sizes multiply to its own."""
    strides: list[int] = []
    step = operand.strides[axis]
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return operand.view(shapes.replaced(operand.sizes, axis, sizes), shapes.replaced(operand.strides, axis, strides))


def permute(operand: Operand, order: Sequence[int]) -> Operand:
    """The dimensions in another order."""
    return operand.view(tuple(operand.sizes[d] for d in order), tuple(operand.strides[d] for d in order))


def trailing(operand: Operand, rank: int) -> Operand:
    """With ``rank`` dimensions: leading ones of size 1 dropped or added."""
    return operand.view(shapes.trailing(operand.sizes, rank), shapes.trailing(operand.strides, rank, 0))


def volume(operand: Operand) -> Operand:
    """With three spatial dimensions: {N, C, [depth], [height], width} as {N, C, depth, height, width}."""
    return operand.view(shapes.with_spatial(operand.sizes, 3), shapes.with_spatial(operand.strides, 3, 0))


def drop(operand: Operand, axis: int) -> Operand:
    """Without a dimension of size 1."""
    return operand.view(shapes.without_axis(operand.sizes, axis), shapes.without_axis(operand.strides, axis))


def merge_between(keep: Iterable[int], *operands: Operand) -> tuple[tuple[int, ...], tuple[Operand, ...]]:
    """Merge dimensions as ``merge`` does, but leave those in ``keep`` by themselves.

    Returns the new places of ``keep``, in their order, and the operands; at least one dimension is left. Operands have
    equal sizes except along ``keep``, where each has its own.
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
    """The bits of a FLOAT attribute in a data type. Integers take its whole part, at most their limits; NaN gives 0."""
    dtype = numpy_dtype(data_type)
    value = float(np.float32(value))
    if VALUE_TYPES[data_type].kind.startswith("float"):
        with np.errstate(over="ignore"):
            return int.from_bytes(np.asarray(value).astype(dtype).tobytes(), "little")
    limits = np.iinfo(dtype)
    whole = 0 if math.isnan(value) else int(min(max(value, limits.min), limits.max))
    return whole % (1 << VALUE_TYPES[data_type].bits)


def union_bits(value: DML_SCALAR_UNION, data_type: enums.DML_TENSOR_DATA_TYPE) -> int:
    """The bits that a scalar union holds for a data type of at least 8 bits."""
    return int.from_bytes(value.Bytes[: VALUE_TYPES[data_type].bits // 8], "little")


def constant_words(name: str, bits: int, data_type: enums.DML_TENSOR_DATA_TYPE) -> tuple[str, dict[str, Constant]]:
    """GLSL for an element given by its bits, as the unsigned value that ``raw`` operands have, and its constants."""
    if VALUE_TYPES[data_type].bits == 64:
        return f"uvec2({name}_LOW, {name}_HIGH)", {f"{name}_LOW": bits & 0xFFFFFFFF, f"{name}_HIGH": bits >> 32}
    return name, {name: bits}


def move_each(
    builder: ProgramBuilder,
    kernel: str,
    result: Operand,
    moved: Mapping[str, Operand],
    still: Mapping[str, Operand],
    *,
    pitches: Mapping[str, int] | None = None,
    constants: Mapping[str, Constant] | None = None,
    keep: Sequence[int] = (),
    code: str = "",
    alike: Iterable[int] = (),
    reads_result: bool = False,
) -> None:
    """Run a kernel that defines ``ELEMENT value(uint c[RANK])``, as ``for_each`` does, but by whole uvec4 if it can.

    The kernel includes "movement/move.glsl", which reads elements of ``moved`` tensors with name_ELEMENT(i). It runs by
    vectors where elements of the last dimension stay together: moved tensors are contiguous and aligned along it, those
    in ``still`` (read as ever) do not vary, and it is not in ``keep``. pitches: constants that count elements of moved
    tensors.
    """
    for part, *others in in_parts((result, *moved.values(), *still.values()), builder.target.max_region, alike):
        named = dict(zip((*moved, *still), others, strict=True))
        moving, staying = ({name: named[name] for name in names} for names in (moved, still))
        _move_each(builder, kernel, part, moving, staying, pitches or {}, constants, keep, code, reads_result)


def _move_each(
    builder: ProgramBuilder,
    kernel: str,
    result: Operand,
    moved: Mapping[str, Operand],
    still: Mapping[str, Operand],
    pitches: Mapping[str, int],
    constants: Mapping[str, Constant] | None,
    keep: Sequence[int],
    code: str,
    reads_result: bool,
) -> None:
    tensors = [result, *moved.values()]
    defines = {"VECTORS": 0}
    unit = 128 // VALUE_TYPES[result.data_type].bits
    together = result.rank - 1 not in keep and all(operand.strides[-1] == 0 for operand in still.values())
    if not together or not all(_holds_vectors(operand, unit) for operand in tensors):
        unit = 1
    if any(pitch % unit for pitch in pitches.values()):
        unit = 1
    named = {**(constants or {}), **{name: pitch // unit for name, pitch in pitches.items()}}
    readable = [*moved, "result"] if reads_result else moved
    code = "\n".join(
        [*(f"#define {name}_ELEMENT {name}_{'load' if unit == 1 else 'vector'}" for name in readable), code]
    )
    if unit == 1:
        builder.for_each(
            kernel, result, {**moved, **still}, constants=named, defines=defines, code=code, reads_result=reads_result
        )
        return
    result = _in_vectors(builder.crop(result), unit)
    bound = {"result": (update if reads_result else write)(result, vector=True)}
    bound.update({name: read(_in_vectors(builder.crop(operand), unit), vector=True) for name, operand in moved.items()})
    bound.update({name: read(operand.view(result.sizes, operand.strides)) for name, operand in still.items()})
    builder.dispatch(kernel, bound, space=result.sizes, constants=named, defines={"VECTORS": 1}, code=code)


def _holds_vectors(operand: Operand, unit: int) -> bool:
    """Whether the last dimension is whole aligned vectors. Dimensions that run backwards are left out."""
    *outer, inner = operand.strides
    aligned = all(stride % unit == 0 and stride < 2**31 for stride in outer)
    return inner == 1 and aligned and operand.sizes[-1] % unit == 0 and operand.base % unit == 0


def _in_vectors(operand: Operand, unit: int) -> Operand:
    """Counted in vectors of ``unit`` elements."""
    sizes = (*operand.sizes[:-1], operand.sizes[-1] // unit)
    strides = (*(stride // unit for stride in operand.strides[:-1]), 1)
    return replace(operand, sizes=sizes, strides=strides, base=operand.base // unit)
