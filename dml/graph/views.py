"""Removal of operators that only move elements, where strides and an offset give the same result.

Readers of an identity, slice or split read a view of its input instead. See ``joins`` for joins.
"""

from __future__ import annotations

from dml.compiler.builder import merge_dimensions
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.operators.movement.views import parts, window
from dml.compiler.program import Operand
from dml.compiler.scalar import ScalarNode
from dml.descriptors.elementwise import DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC
from dml.descriptors.movement import (
    DML_JOIN_OPERATOR_DESC,
    DML_SLICE1_OPERATOR_DESC,
    DML_SLICE_OPERATOR_DESC,
    DML_SPLIT_OPERATOR_DESC,
)
from dml.graph.model import Node
from dml.shapes import without_ones
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides


def read_views(node: Node, source: Operand) -> list[Operand] | None:
    """Return a node's outputs as views of its one input if it only selects elements; else None."""
    desc = node.desc
    if isinstance(node.expression, ScalarNode):
        return None
    if isinstance(desc, DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC):
        return [source] if desc.ScaleBias is None and desc.InputTensor.Sizes == desc.OutputTensor.Sizes else None
    if isinstance(desc, DML_SLICE_OPERATOR_DESC):
        return [window(source, desc.Offsets, desc.OutputTensor.Sizes, desc.Strides)]
    if isinstance(desc, DML_SLICE1_OPERATOR_DESC):
        if any(step < 0 for step in desc.InputWindowStrides):
            return None
        return [window(source, desc.InputWindowOffsets, desc.OutputTensor.Sizes, desc.InputWindowStrides)]
    if isinstance(desc, DML_SPLIT_OPERATOR_DESC):
        return parts(source, desc.Axis, (tensor.Sizes[desc.Axis] for tensor in desc.OutputTensors))
    return None


def join_views(desc: DML_JOIN_OPERATOR_DESC, result: Operand) -> list[Operand]:
    """Return the place of each input of a join in the joined tensor."""
    return parts(result, desc.Axis, (tensor.Sizes[desc.Axis] for tensor in desc.InputTensors))


def seen_through(view: Operand, produced: DML_BUFFER_TENSOR_DESC, seen: DML_BUFFER_TENSOR_DESC) -> Operand | None:
    """Return the operand with which a reader, whose description is ``seen``, reads a value that exists only as a view
    of other memory.

    produced: the removed operator's description of the value. None if no strides express it.
    """
    if DATA_TYPES[produced.DataType].bits != DATA_TYPES[seen.DataType].bits:
        return None
    view = view.as_type(seen.DataType)
    if seen.Sizes == produced.Sizes and seen.strides == produced.strides:
        return view
    if not produced.is_packed:
        return None
    if not view.is_packed and without_ones(seen.Sizes) == without_ones(produced.Sizes):
        # The reader may have flattened a batch of one. A larger batch would need a copy, so copy now, too.
        return None
    strides = _strides_through(view, seen)
    return None if strides is None else view.view(seen.Sizes, strides)


def _strides_through(view: Operand, seen: DML_BUFFER_TENSOR_DESC) -> tuple[int, ...] | None:
    """Return strides in the view's memory for ``seen``, a description that counts the view's elements as if they were
    packed."""
    sizes, (steps,) = merge_dimensions(view.sizes, [view.strides])
    packed = packed_strides(sizes)
    room = [size - 1 for size in sizes]
    strides: list[int] = []
    for size, stride in zip(seen.Sizes, seen.strides, strict=True):
        axis = next((d for d, whole in enumerate(packed) if stride and stride % whole == 0), None)
        if axis is None:
            strides.append(0)
            if stride and size > 1:
                return None
            continue
        times = stride // packed[axis]
        room[axis] -= times * (size - 1)
        if room[axis] < 0:
            return None
        strides.append(times * steps[axis] % 2**32)
    return tuple(strides)


def reshaped(operand: Operand, sizes: tuple[int, ...]) -> Operand | None:
    """Return the operand with other sizes, in the same order; None if its elements have gaps or another order."""
    if operand.sizes == sizes:
        return operand
    return operand.view(sizes, packed_strides(sizes)) if operand.is_packed else None


def same_places(a: Operand, b: Operand) -> bool:
    """Whether two operands of equal sizes address the same elements of the same region."""
    steps = zip(a.sizes, a.strides, b.strides, strict=True)
    return (a.region, a.base, a.sizes) == (b.region, b.base, b.sizes) and all(
        first == second or size == 1 for size, first, second in steps
    )
