"""Control flow: branches are chosen or joined, and loops unrolled, during the trace.

A constant condition or count is used directly. One that depends on the inputs is computed by the graph built so far
and becomes a guard. An If whose branches return tensors of equal shapes needs no guard: both are computed, and
ELEMENT_WISE_IF selects one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dml.errors import DMLError
from dml.shapes import checked_axis, with_axis, without_axis
from dml.traced import whole

from ...dtypes import dtype_of
from ...registry import onnx_op
from .. import folds
from ..functions import join, part
from ..node import OnnxNode, Unsupported
from ..trace import Scope
from ..value import OnnxValue, reshape, where


def _branch(node: OnnxNode, name: str, inputs: Sequence[Any] = ()) -> list[Any]:
    """Return the outputs of a nested graph, which sees the outer names."""
    graph = node.required(name)
    wanted = [entry.name for entry in graph.input]
    node.check(len(wanted) == len(inputs), f"its {name} takes {len(wanted)} inputs, found {len(inputs)}")
    trace, scope = node.trace, Scope(node.scope.opsets, node.scope)
    return trace.body(trace.facts(graph), scope, dict(zip(wanted, inputs, strict=True)))


@onnx_op("If", fold=folds.NEVER)
def if_(node: OnnxNode) -> list[Any]:
    condition = node.input(0)
    counts = [len(node.required(name).output) for name in ("then_branch", "else_branch")]
    node.check(counts[0] == counts[1], f"its branches must have equal numbers of outputs, found {counts}")
    node.check(condition.size == 1, f"the condition must hold one number, found shape {condition.shape}")
    if condition.array is None:
        joined = _both(node, condition)
        if joined is not None:
            return joined
    return _branch(node, "then_branch" if node.single(0) else "else_branch")


def _both(node: OnnxNode, condition: OnnxValue) -> list[Any] | None:
    """Select between the results of both branches; None if their types or shapes differ, or one cannot be mapped.

    A branch may be wrong for these shapes if the condition depends on them.
    """
    try:
        pairs = list(zip(_branch(node, "then_branch"), _branch(node, "else_branch"), strict=True))
    except DMLError:
        return None
    for a, b in pairs:
        if not (isinstance(a, OnnxValue) and isinstance(b, OnnxValue)) or a.shape != b.shape or a.dtype != b.dtype:
            return None
        if not a.size or a.rank > 8:
            return None
    return [where(reshape(condition, ()), a, b) for a, b in pairs]


@onnx_op("Loop", fold=folds.NEVER)
def loop(node: OnnxNode) -> list[Any]:
    body = node.required("body")
    most = whole(node.single(0)) if node.has(0) else None
    going = not node.has(1) or bool(node.single(1))
    state = list(node.inputs[2:])
    least = 1 + len(state)
    node.check(len(body.output) >= least, f"its body must have at least {least} outputs, found {len(body.output)}")
    scans: list[list[OnnxValue]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    round_ = computed = 0
    while going and (most is None or round_ < most):
        guards = len(node.trace.guards)
        results = _round(node, round_, state)
        going = bool(_number(node, results[0]))
        computed += node.trace.count * sum(guard.compiled is not None for guard in node.trace.guards[guards:])
        node.trace.limit_computed(computed)
        state = results[1:least]
        for scan, value in zip(scans, results[least:], strict=True):
            scan.append(value)
        round_ += 1
    outputs = body.output[least:]
    if not round_ and not all(map(_has_sizes, outputs)):
        try:
            examples = _round(node, 0, state)[least:]
        except DMLError:  # the body may be invalid for zero iterations
            pass
        else:
            return [*state, *(part(reshape(v, with_axis(v.shape, 0)), 0, 0, 0) for v in examples)]
    return [*state, *(_stacked(node, scan, 0, entry) for scan, entry in zip(scans, outputs, strict=True))]


def _round(node: OnnxNode, index: int, state: Sequence[Any]) -> list[Any]:
    return _branch(node, "body", [node.constant(np.array(index, np.int64)), node.constant(np.array(True)), *state])


def _has_sizes(entry: Any) -> bool:
    """Return whether a graph's output has a declared shape of numbers."""
    kind = entry.type.tensor_type
    return kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim)


def _number(node: OnnxNode, value: Any) -> Any:
    """Return the value of a condition or count, which must be known while the model is traced."""
    node.check(isinstance(value, OnnxValue) and value.size == 1, "its body's condition must be a tensor of one number")
    return node.trace.known(value).item()


def _stacked(node: OnnxNode, values: list[OnnxValue], axis: int, entry: Any) -> OnnxValue:
    """Stack values along a new axis. Without values, return an empty tensor of the shape that the graph declares."""
    if not values:
        kind = entry.type.tensor_type
        sizes = [dim.dim_value for dim in kind.shape.dim]
        return node.constant(np.zeros((0, *sizes), dtype_of(kind.elem_type)))
    rank = values[0].rank + 1
    axis = axis + rank if axis < 0 else axis
    return join([reshape(v, with_axis(v.shape, axis)) for v in values], axis)


@onnx_op("Scan", fold=folds.NEVER)
def scan(node: OnnxNode) -> list[Any]:
    """Scan; version 8 has a leading batch dimension, whose items are scanned separately, and an input of lengths."""
    if node.version < 9:
        if node.has(0):
            raise Unsupported("sequence_lens is not mapped")
        return _batched(node)
    return _scanned(node, node.variadic())


def _batched(node: OnnxNode) -> list[Any]:
    inputs = [node.input(index, least=1) for index in range(1, len(node.inputs))]
    batches = {value.shape[0] for value in inputs}
    node.check(len(batches) == 1, f"its inputs must have one batch size, found {sorted(batches)}")
    runs = [
        _scanned(node, [reshape(part(v, 0, item, 1), v.shape[1:]) for v in inputs])
        for item in range(inputs[0].shape[0])
    ]
    return [_stacked(node, [run[index] for run in runs], 0, None) for index in range(len(runs[0]))]


def _scanned(node: OnnxNode, inputs: list[OnnxValue]) -> list[Any]:
    body, count = node.required("body"), node.integer("num_scan_inputs", 1, least=1, most=len(inputs))
    states, scanned = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    outputs = len(body.output) - len(states)
    node.check(outputs >= 0, f"its body must have at least {len(states)} outputs, found {len(body.output)}")
    directions = node.each("directions" if node.version < 9 else "scan_input_directions", count, 0)
    axes = node.each("scan_input_axes", count, 0)
    axes = [checked_axis(axis, value.rank) for axis, value in zip(axes, scanned, strict=True)]
    lengths = {value.shape[axis] for value, axis in zip(scanned, axes, strict=True)}
    node.check(len(lengths) == 1, f"the scanned inputs must have one length, found {sorted(lengths)}")
    (length,) = lengths
    results: list[list[OnnxValue]] = [[] for _ in range(outputs)]
    for t in range(length):
        items = []
        for value, axis, back in zip(scanned, axes, directions, strict=True):
            piece = part(value, axis, length - 1 - t if back else t, 1)
            items.append(reshape(piece, without_axis(value.shape, axis)))
        results_of_step = _branch(node, "body", [*states, *items])
        states = results_of_step[: len(states)]
        for result, value in zip(results, results_of_step[len(states) :], strict=True):
            result.append(value)
    output_axes = node.each("scan_output_axes", outputs, 0)
    output_back = node.each("scan_output_directions", outputs, 0)
    entries = body.output[len(states) :]
    stacked = [
        _stacked(node, values[::-1] if back else values, axis, entry)
        for values, axis, back, entry in zip(results, output_axes, output_back, entries, strict=True)
    ]
    return [*states, *stacked]
