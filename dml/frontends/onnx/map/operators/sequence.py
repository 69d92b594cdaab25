"""Sequences and optionals: Python lists of values during the trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.errors import DMLError
from dml.shapes import with_axis, without_axis
from dml.traced import whole

from ...registry import onnx_op
from ..functions import join, part
from ..node import OnnxNode
from ..value import OnnxValue, reshape
from .movement import split_sizes


def _sequence(node: OnnxNode, index: int = 0) -> list[Any]:
    node.check(node.has(index), f"input {index} must be given")
    items = node.inputs[index]
    if not isinstance(items, list):
        raise DMLError(f"input {index} must be a sequence")
    return items


def _position(node: OnnxNode, index: int, size: int) -> int:
    known = node.known(index)
    position = size if known is None else int(node.single(index))
    node.check(-size <= position <= size, f"position {position} lies outside a sequence of {size}")
    return position + size if position < 0 else position


@onnx_op("SequenceEmpty", since=11)
def sequence_empty(node: OnnxNode) -> list[Any]:
    return [[]]


@onnx_op("SequenceConstruct", since=11)
def sequence_construct(node: OnnxNode) -> list[Any]:
    return [list(node.inputs)]


@onnx_op("SequenceAt", since=11)
def sequence_at(node: OnnxNode) -> list[Any]:
    items = _sequence(node)
    position = _position(node, 1, len(items))
    node.check(position < len(items), f"position {position} lies outside a sequence of {len(items)}")
    return [items[position]]


@onnx_op("SequenceInsert", since=11)
def sequence_insert(node: OnnxNode) -> list[Any]:
    items = _sequence(node)
    position = _position(node, 2, len(items))
    return [[*items[:position], node.input(1), *items[position:]]]


@onnx_op("SequenceErase", since=11)
def sequence_erase(node: OnnxNode) -> list[Any]:
    items = _sequence(node)
    position = _position(node, 1, len(items)) if node.has(1) else len(items) - 1
    return [[*items[:position], *items[position + 1 :]]]


@onnx_op("SequenceLength", since=11)
def sequence_length(node: OnnxNode) -> OnnxValue:
    return node.constant(np.array(len(_sequence(node)), np.int64))


@onnx_op("ConcatFromSequence", since=11)
def concat_from_sequence(node: OnnxNode) -> OnnxValue:
    items = _sequence(node)
    node.check(bool(items), "an empty sequence has no shape")
    new = node.integer("new_axis", 0)
    axis = node.axis("axis", 0, items[0].rank + new)
    if new:
        items = [reshape(v, with_axis(v.shape, axis)) for v in items]
    return join(items, axis)


@onnx_op("SplitToSequence", since=11)
def split_to_sequence(node: OnnxNode) -> list[Any]:
    x, known = node.input(0), node.known(1)
    axis = node.axis("axis", 0, x.rank)
    size = x.shape[axis]
    if known is None:
        pieces = [part(x, axis, index, 1) for index in range(size)]
        if not node.integer("keepdims", 1):
            pieces = [reshape(p, without_axis(x.shape, axis)) for p in pieces]
        return [pieces]
    if known.ndim:
        return [split_sizes(x, axis, [whole(size) for size in known.reshape(-1)])]
    each = int(known)
    node.check(each >= 1, f"split must be positive, found {each}")
    return [split_sizes(x, axis, [min(each, size - index) for index in range(0, size, each)])]


@onnx_op("Optional", since=15)
def optional(node: OnnxNode) -> list[Any]:
    return [node.inputs[0] if node.inputs else None]


@onnx_op("OptionalGetElement", since=15)
def optional_get_element(node: OnnxNode) -> list[Any]:
    node.check(node.has(0), "the optional is empty")
    return [node.inputs[0]]


@onnx_op("OptionalHasElement", since=15)
def optional_has_element(node: OnnxNode) -> OnnxValue:
    return node.constant(np.array(node.has(0)))
