"""The engine of reductions over any set of axes, of any length.

``reduce`` serves the operators of reduce.py, softmax, normalizations, quantization and large pooling windows. The
combining operations are in monoids.py, the kernel's text in kernel.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.reduction.kernel import Combination, kernel_code
from dml.compiler.operators.reduction.layout import ReductionLayout, kept_first
from dml.compiler.operators.reduction.monoids import Monoid
from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, leaves_of, node, substitute
from dml.compiler.selection.lines import SUM_BLOCK, reduction_sharing
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.tensors import packed_strides

KERNEL = "reduction/reduce.comp"
#: In ``element``: the first input's element. In the expressions of ``results``: the accumulator.
VALUE = Leaf(0)


def reduce(
    builder: ProgramBuilder,
    monoid: Monoid,
    inputs: Sequence[Operand],
    axes: Sequence[int],
    results: Sequence[tuple[Operand, Expression]],
    element: Expression = VALUE,
    *,
    positional: bool = False,
) -> None:
    """Combine ``element`` over ``axes`` and store expressions of the outcome.

    inputs: operands of any types that broadcast to the sizes of the first. element: one position's contribution, of the
    monoid's type; its leaves are the inputs and then, with ``positional``, the position's row-major number among the
    reduced axes. results: operands of the first input's sizes, 1 along the axes, with an expression each: leaf 0 is the
    accumulator, leaf i input i, which must not vary along the axes.

    Any length: long reductions to few results take two or more dispatches through a temporary. Float sums run in
    float32 in blocks and trees. Any size: tensors larger than a binding are reduced in parts.
    """
    combination = Combination(monoid, element, [expression for _, expression in results])
    stored = [operand for operand, _ in results]
    fixed = leaves_of(*combination.finish) - {0}
    inputs = [_repeated(operand, inputs[0].sizes, axes) if i in fixed else operand for i, operand in enumerate(inputs)]
    operands, kept = kept_first(inputs, axes, stored, in_order=positional)
    sizes, most = operands[0].sizes, builder.target.max_region
    dimensions = range(len(sizes))
    extents = cut(operands, most, dimensions) or sizes
    reduced_boxes = list(boxes(sizes[kept:], extents[kept:]))
    if len(reduced_boxes) > 1:
        # While a part of the results is reduced, a temporary holds one partial result per box.
        shape = (*sizes[:kept], len(reduced_boxes))
        *outer, inner = packed_strides(shape)
        partial = words((*sizes, len(reduced_boxes)), (*outer, *(0 for _ in sizes[kept:]), inner))
        extents = cut([*operands, partial], most, dimensions) or extents
    for box in boxes(sizes[:kept], extents[:kept]):
        part = [narrow(operand, dimensions[:kept], box) for operand in operands]
        layout = ReductionLayout.of(
            builder.target, part[: len(inputs)], part[len(inputs) :], kept, words=len(monoid.pack)
        )
        if len(reduced_boxes) == 1:
            _reduce_whole(builder, layout, combination)
        else:
            _reduce_boxes(builder, layout, combination, reduced_boxes)


def _repeated(operand: Operand, sizes: tuple[int, ...], axes: Sequence[int]) -> Operand:
    """Broadcast an operand that does not vary along the axes. Its strides there are 0, even along an axis of size 1."""
    wide = operand.broadcast(sizes)
    return wide.view(sizes, tuple(0 if axis in axes else stride for axis, stride in enumerate(wide.strides)))


def _reduce_whole(builder: ProgramBuilder, layout: ReductionLayout, combination: Combination) -> None:
    """Reduce in one dispatch or, with chunks, in one for partial results and further ones that combine these."""
    groups = layout.count // layout.wide
    computed = 0 if combination.element == VALUE else layout.wide * layout.unit
    sharing = reduction_sharing(builder.target, groups, layout.steps, layout.row_bytes, computed)
    chunk, chunks = sharing.cut(layout.steps)
    one_word = len(combination.monoid.pack) == 1
    if chunks == 1:
        stored, stores = layout.results, combination
    else:
        stored = tuple(_plane(builder, (chunks * layout.count,)) for _ in combination.monoid.pack)
        stores = replace(combination, finish=_packed(combination.monoid))
    code, constants = kernel_code(layout, stores, stored, partial=chunks > 1)
    moves_vectors = layout.wide * layout.unit > 1
    builder.dispatch(
        KERNEL,
        {
            **{f"y{i}": write(operand) for i, operand in enumerate(stored)},
            **{
                f"x{i}": read(operand, vector=moves_vectors and i not in layout.rows)
                for i, operand in enumerate(layout.inputs)
            },
        },
        count=groups * chunks * sharing.lanes,
        workgroup=sharing.workgroup,
        constants={"RESULTS": groups, "CHUNKS": chunks, "CHUNK": chunk, "STEPS": layout.steps, **constants},
        defines={
            "ACC": combination.monoid.glsl,
            "IDENTITY": combination.monoid.identity,
            "LANES": sharing.lanes,
            "WIDE": layout.wide,
            "UNIT": layout.unit,
            "BLOCK": SUM_BLOCK,
            # SwiftShader takes minutes to compile norms that appear several times.
            "TOGETHER": sharing.together if one_word else 1,
            "STRIDED_LANES": int(sharing.strided_lanes),
            "SUBGROUP": sharing.subgroup if one_word else 0,
        },
        code=code,
        steps=-(-chunk // sharing.lanes),
        each=layout.wide * layout.unit,
    )
    if chunks > 1:
        sizes, strides = (chunks, *layout.kept_sizes), (layout.count, *packed_strides(layout.kept_sizes))
        _combine(builder, layout, combination, [plane.view(sizes, strides) for plane in stored])


def _reduce_boxes(
    builder: ProgramBuilder, layout: ReductionLayout, combination: Combination, parts: Sequence[Box]
) -> None:
    """Reduce boxes of the reduced dimensions one by one, then their partial results."""
    sizes = layout.reduced_sizes
    axes = range(layout.kept, layout.rank)
    # The partial sums of a result are contiguous, so a tensor too large for one binding is split between results.
    shape = (*layout.kept_sizes, len(parts))
    planes = [_plane(builder, shape) for _ in combination.monoid.pack]
    strides = packed_strides(shape)
    leaves = [Leaf(i) for i in range(len(layout.inputs))]
    for number, part in enumerate(parts):
        inputs = [narrow(operand, axes, part) for operand in layout.inputs]
        single = (*layout.kept_sizes, *(1,) * len(sizes)), (*strides[:-1], *(0,) * len(sizes))
        places = [plane.view(*single, number) for plane in planes]
        placed = substitute(combination.element, [*leaves, _position(Leaf(len(leaves)), sizes, part)])
        of_part = Combination(combination.monoid, placed, _packed(combination.monoid))
        own = ReductionLayout.of(builder.target, inputs, places, layout.kept, words=len(combination.monoid.pack))
        _reduce_whole(builder, own, of_part)
    by_part = (len(parts), *layout.kept_sizes), (1, *strides[:-1])
    _combine(builder, layout, combination, [plane.view(*by_part) for plane in planes])


def _combine(
    builder: ProgramBuilder, layout: ReductionLayout, combination: Combination, planes: Sequence[Operand]
) -> None:
    """Reduce partial results {partial results, kept dimensions} to the results. planes: one tensor per word of an
    accumulator."""
    sizes, inputs = planes[0].sizes, list(planes)
    places: list[Expression] = [VALUE] * len(layout.inputs)
    for i in sorted(layout.rows):
        places[i] = Leaf(len(inputs))
        inputs.append(layout.inputs[i].view(sizes, (0, *layout.inputs[i].strides[: layout.kept])))
    results = [
        (operand.view((1, *layout.kept_sizes), (0, *operand.strides[: layout.kept])), substitute(expression, places))
        for operand, expression in zip(layout.results, combination.finish, strict=True)
    ]
    unpack = node(combination.monoid.unpack, *(Leaf(i) for i in range(len(planes))), glsl=combination.monoid.glsl)
    reduce(builder, combination.monoid, inputs, (0,), results, unpack)


def _plane(builder: ProgramBuilder, sizes: Sequence[int]) -> Operand:
    """Return a temporary that holds one word of every partial result's accumulator."""
    return builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, sizes)


def _packed(monoid: Monoid) -> list[Expression]:
    """Return one expression per word of the accumulator."""
    return [node(word, VALUE, glsl="uint") for word in monoid.pack]


def _position(place: Expression, sizes: Sequence[int], part: Box) -> Expression:
    """Convert ``place``, a row-major index within a part, to one within the whole tensor of ``sizes``."""
    terms: list[str] = []
    constants: dict[str, Any] = {}
    own = whole = 1
    for d, (size, (start, extent)) in reversed(list(enumerate(zip(sizes, part, strict=True)))):
        terms.append(f"($x0 / $Own{d} % $Extent{d} + $Start{d}) * $Whole{d}")
        constants |= {f"Own{d}": own, f"Extent{d}": extent, f"Start{d}": start, f"Whole{d}": whole}
        own, whole = own * extent, whole * size
    return node(" + ".join(terms), place, glsl="uint", **constants)
