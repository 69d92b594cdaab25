"""Shape computations on small arrays, in NumPy.

ONNX's reference evaluator computes everything else. It is slower to import and for each node, which matters when a
model is compiled for every new shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ..dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, Array, DType
from ..load.loading import array_of

if TYPE_CHECKING:
    from .node import OnnxNode

#: The dtypes of shapes and of values computed from them. The reference computes others.
_WHOLE = (INT64, INT32, BOOL)
_TAKEN = (*_WHOLE, FLOAT32)
_CASTS: dict[int, DType] = {
    onnx.TensorProto.FLOAT: FLOAT32,
    onnx.TensorProto.DOUBLE: FLOAT64,
    onnx.TensorProto.INT64: INT64,
    onnx.TensorProto.INT32: INT32,
    onnx.TensorProto.BOOL: BOOL,
}
_Compute = Callable[..., Any]


def computed(node: OnnxNode, arrays: list[Array | None]) -> Array | None:
    """Compute the node's only output; None for other operators. Raises NumPy's exceptions for wrong inputs."""
    compute = _COMPUTE.get(node.op)
    if compute is None or len(node.proto.output) != 1:
        return None
    # (a slice may have any dtype; it is computed here because the reference slices as NumPy does, not as ONNX says)
    if node.op != "Slice" and any(a is not None and a.dtype not in _TAKEN for a in arrays):
        return None
    found = compute(node, *arrays)
    return None if found is None else np.asarray(found)


def _pairwise(function: _Compute, kinds: str) -> _Compute:
    """Return a function of two arrays with dtypes of these kinds, for which NumPy and ONNX agree."""

    def compute(node: OnnxNode, a: Array, b: Array) -> Any:
        agreed = node.version >= 7 and a.dtype == b.dtype and a.dtype.kind in kinds
        return function(a, b) if agreed else None

    return compute


def _quotient(a: Array, b: Array) -> Any:
    """Divide integers, rounding toward zero."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    if not b.all():
        return None
    whole, rest = np.divmod(a, b)
    return whole + ((rest != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def _axes(node: OnnxNode, axes: Array | None) -> tuple[int, ...] | None:
    given = node.attributes.get("axes") if axes is None else axes.reshape(-1).tolist()
    return None if given is None else tuple(given)


def _unsqueeze(node: OnnxNode, x: Array, axes: Array | None = None) -> Any:
    found = _axes(node, axes)
    return None if found is None else np.expand_dims(x, found)


def _squeeze(node: OnnxNode, x: Array, axes: Array | None = None) -> Any:
    found = _axes(node, axes)
    return None if found is None else np.squeeze(x, found)


def _concat(node: OnnxNode, *arrays: Array) -> Any:
    same = "axis" in node.attributes and len({array.dtype for array in arrays}) == 1
    return np.concatenate(arrays, node.attributes["axis"]) if same else None


def _slice(
    node: OnnxNode, x: Array, starts: Array | None = None, ends: Array | None = None,
    axes: Array | None = None, steps: Array | None = None,
) -> Any:  # fmt: skip
    if node.version < 10 or starts is None or ends is None:
        return None
    count = starts.size
    if not starts.ndim == ends.ndim == 1 or any(a is not None and a.shape != (count,) for a in (ends, axes, steps)):
        return None
    taken = [slice(None)] * x.ndim
    along = range(count) if axes is None else axes.tolist()
    strides = [1] * count if steps is None else steps.tolist()
    for axis, start, end, step in zip(along, starts.tolist(), ends.tolist(), strides, strict=True):
        if step < 0:
            start = max(start, -x.shape[axis])  # (NumPy would select nothing)
        taken[axis] = slice(start, end, step)
    return x[tuple(taken)]


def _cast(node: OnnxNode, x: Array) -> Any:
    wanted = _CASTS.get(node.attributes.get("to", 0))
    return x.astype(wanted) if wanted is not None and (x.dtype in _WHOLE or wanted.kind == "f") else None


def _range(node: OnnxNode, start: Array, end: Array, step: Array) -> Any:
    if not start.size == end.size == step.size == 1 or not start.dtype == end.dtype == step.dtype == INT64:
        return None
    return np.arange(start.item(), end.item(), step.item(), dtype=np.int64) if step.item() else None


def _reshape(node: OnnxNode, x: Array, shape: Array | None = None) -> Any:
    if shape is None or node.attributes.get("allowzero", 0):
        return None
    return x.reshape([x.shape[at] if size == 0 else size for at, size in enumerate(shape.tolist())])


def _constant_of_shape(node: OnnxNode, shape: Array) -> Any:
    value = array_of(node.attributes["value"]) if "value" in node.attributes else np.zeros(1, np.float32)
    return np.full(tuple(shape.tolist()), value.reshape(-1)[0]) if value.size == 1 and shape.ndim == 1 else None


def _where(node: OnnxNode, condition: Array, a: Array, b: Array) -> Any:
    return np.where(condition, a, b) if condition.dtype == BOOL and a.dtype == b.dtype else None


_COMPUTE: dict[str, _Compute] = {
    "Add": _pairwise(np.add, "if"),
    "Sub": _pairwise(np.subtract, "if"),
    "Mul": _pairwise(np.multiply, "if"),
    "Div": _pairwise(_quotient, "if"),
    "Equal": _pairwise(np.equal, "ifb"),
    "Less": _pairwise(np.less, "if"),
    "Greater": _pairwise(np.greater, "if"),
    "And": _pairwise(np.logical_and, "b"),
    "Or": _pairwise(np.logical_or, "b"),
    "Not": lambda node, x: np.logical_not(x) if x.dtype == BOOL else None,
    "Identity": lambda node, x: x,
    "Sqrt": lambda node, x: np.sqrt(x) if x.dtype == FLOAT32 else None,
    "Gather": lambda node, x, indices: np.take(x, indices, node.attributes.get("axis", 0)),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Concat": _concat,
    "Slice": _slice,
    "Cast": _cast,
    "Range": _range,
    "Reshape": _reshape,
    "Transpose": lambda node, x: np.transpose(x, node.attributes.get("perm")),
    "ConstantOfShape": _constant_of_shape,
    "Expand": lambda node, x, shape: x * np.ones(shape.tolist(), x.dtype),
    "Where": _where,
}
