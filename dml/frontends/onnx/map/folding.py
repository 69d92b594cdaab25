"""Constant folding on the host, for small constants and operators that compute shapes.

Larger constants (transposed weights, for example) go to the device, where the graph computes them once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from dml.errors import DMLError

from ..dtypes import Array
from .host import computed
from .traced_arrays import TracedArray, computed_of_sizes, is_traced
from .value import OnnxValue

if TYPE_CHECKING:
    from .node import OnnxNode

#: Maximum elements of an input, and of all results together, of a node folded on the host.
_INPUT_LIMIT, _OUTPUT_LIMIT = 4096, 2**20

_FOLDABLE = frozenset(
    """
    Abs Add And ArgMax ArgMin Cast CastLike Ceil Clip Compress Concat ConstantOfShape Cos CumSum Div Equal Exp
    Expand Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual Identity Less LessOrEqual Log Max
    Mean Min Mod Mul Neg NonZero Not Or Pow Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    Relu Reshape Round ScatterElements ScatterND Sigmoid Sign Sin Slice Split Sqrt Squeeze Sub Sum Tanh Tile TopK
    Transpose Trilu Unique Unsqueeze Where Xor BlackmanWindow HammingWindow HannWindow MelWeightMatrix
    """.split()  # noqa: SIM905  # more readable than a list of eighty strings
)


def fold(node: OnnxNode) -> Sequence[Array | TracedArray] | None:
    """Return the node's outputs if it can be computed here, else None."""
    if node.domain or node.op in ("Constant", "If", "Loop", "Scan", "Shape", "Size"):
        return None
    values = [item for item in node.inputs if item is not None]
    if not values or not all(isinstance(item, OnnxValue) for item in values):
        return None
    # A node without elements gives the device nothing to do, whatever its other inputs hold.
    empty = not values[0].size and all(item.size <= _INPUT_LIMIT for item in values)
    # (the reference gives the result of GlobalMaxPool too many dimensions)
    if empty and node.op not in ("Concat", "GlobalMaxPool") and _evaluable(node):
        return _evaluate(node, [None if item is None else node.trace.known(item) for item in node.inputs])
    # Gathering rows of a large table costs as much here as uploading them, which would be repeated for each length.
    small = values[1:] if node.op == "Gather" else values
    if node.op not in _FOLDABLE or any(item.constant is None for item in values):
        return None
    if any(item.size > _INPUT_LIMIT for item in small):
        return None
    constants = [None if item is None else item.constant for item in node.inputs]
    if any(map(is_traced, constants)):
        made = computed_of_sizes(node, constants, partial(_evaluate, node))
        of_numbers = node.op in ("ConstantOfShape", "Expand", "Gather", "Range", "Tile")
        size = made.size if of_numbers else prod(item.size for item in values)
        return [made] if size <= _OUTPUT_LIMIT else None
    arrays = [None if item is None else item.array for item in node.inputs]
    return _evaluate(node, arrays) if _result_size(node, arrays) <= _OUTPUT_LIMIT else None


def _evaluable(node: OnnxNode) -> bool:
    return not any(hasattr(value, "node") for value in node.attributes.values())


def _result_size(node: OnnxNode, arrays: list[Array | None]) -> int:
    """Return the number of result elements, or a lower bound where it exceeds the inputs'."""
    op = node.op
    first, second = (arrays[at] if at < len(arrays) else None for at in (0, 1))
    if first is None:
        return 0
    if op == "Gather" and second is not None and first.ndim:
        return int(first.size // max(1, first.shape[node.axis("axis", 0, first.ndim)]) * second.size)
    if op == "ConstantOfShape":
        return abs(prod(int(size) for size in first.reshape(-1)))
    if op == "Expand" and second is not None:
        return first.size * abs(prod(int(size) for size in second.reshape(-1)))
    if op == "Tile" and second is not None:
        return first.size * abs(prod(int(count) for count in second.reshape(-1)))
    if op == "Range" and second is not None and arrays[2] is not None:
        if not first.size == second.size == arrays[2].size == 1:
            return 0
        start, end, step = (float(a.item()) for a in (first, second, arrays[2]))
        return int(abs((end - start) / step)) + 1 if step else 2**62
    if op.endswith("Window"):
        return int(first.reshape(-1)[:1].sum())
    if op == "MelWeightMatrix":
        return prod(int(a.reshape(-1)[:1].sum()) for a in arrays[:2] if a is not None)
    return prod(a.size for a in arrays if a is not None)


def _evaluate(node: OnnxNode, arrays: list[Array | None]) -> list[Array] | None:
    """Evaluate the node by NumPy or ONNX's reference; None if they cannot."""
    # (after a failure here, the reference computes the result or refuses)
    with suppress(Exception), np.errstate(all="ignore"):
        made_here = computed(node, arrays)
        if made_here is not None:
            return [made_here]
    proto = onnx.NodeProto()
    proto.op_type = node.op
    proto.input.extend(f"i{at}" if array is not None else "" for at, array in enumerate(arrays))
    # (the reference would give the first result to the first output that is named)
    proto.output.extend(f"o{at}" for at in range(len(node.proto.output)))
    proto.attribute.extend(node.attribute_protos())
    feeds = {f"i{at}": array for at, array in enumerate(arrays) if array is not None}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = _evaluator(proto.SerializeToString(), node.version).run(None, feeds)
    except DMLError:
        raise
    except Exception:  # (the reference raises various exceptions; the mapping then reports the fault)
        return None
    if any(isinstance(result, list) for result in results):
        return None  # sequences are left to the mapping
    made = _typed(node, arrays, [np.asarray(result) for result in results])
    return None if any(array.dtype == object for array in made) else made


def _typed(node: OnnxNode, arrays: list[Array | None], results: list[Array]) -> list[Array]:
    """Return the results in the data types of ONNX's schema, where NumPy chooses others (a sum of int32 is int64)."""
    schema = onnx.defs.get_schema(node.op, node.version)
    kinds = {one.type_str: array.dtype for one, array in zip(schema.inputs, arrays, strict=False) if array is not None}
    names = [one.type_str for one in schema.outputs]
    return [
        result.astype(kinds.get(names[min(at, len(names) - 1)], result.dtype), copy=False)
        for at, result in enumerate(results)
    ]


@lru_cache(maxsize=256)
def _evaluator(proto: bytes, version: int) -> Any:
    from onnx.reference import ReferenceEvaluator  # (here, because the import is slow and few models need it)

    node = onnx.NodeProto()
    node.ParseFromString(proto)
    return ReferenceEvaluator(node, opsets={"": version})
