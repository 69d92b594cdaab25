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

from ..dtypes import Array
from ..registry import Fold, fold_of, schema_of
from .folds import DTYPES
from .traced_arrays import TracedArray, computed_of_sizes, is_traced
from .value import OnnxValue

if TYPE_CHECKING:
    from .node import OnnxNode

#: Maximum elements of an input, and of all results together, of a node folded on the host.
_INPUT_LIMIT, _OUTPUT_LIMIT = 4096, 2**20


def fold(node: OnnxNode) -> Sequence[Array | TracedArray] | None:
    """Return the node's outputs if it can be computed here, else None."""
    if node.domain:
        return None
    values = [item for item in node.inputs if item is not None]
    if not values or not all(isinstance(item, OnnxValue) for item in values):
        return None
    how = fold_of(node.op)
    # A node without elements gives the device no work, even if its other inputs have data.
    is_empty = how.empty and not values[0].size and all(item.size <= _INPUT_LIMIT for item in values)
    if is_empty and not any(hasattr(value, "node") for value in node.attributes.values()):  # no nested graphs
        return _evaluate(node, how, [None if item is None else node.trace.known(item) for item in node.inputs])
    if not how.constants or any(item.constant is None for item in values):
        return None
    if any(item.size > _INPUT_LIMIT for item in (values[1:] if how.large_table else values)):
        return None
    constants = [None if item is None else item.constant for item in node.inputs]
    if any(map(is_traced, constants)):
        folded = computed_of_sizes(node, how, constants, partial(_evaluate, node, how))
        size = prod(item.size for item in values) if how.size is None else folded.size
        return [folded] if size <= _OUTPUT_LIMIT else None
    arrays = [None if item is None else item.array for item in node.inputs]
    return _evaluate(node, how, arrays) if _result_size(node, how, arrays) <= _OUTPUT_LIMIT else None


def _result_size(node: OnnxNode, how: Fold, arrays: list[Array | None]) -> int:
    """Return the number of result elements, or a lower bound if it exceeds the inputs'."""
    if how.size is None:
        return prod(a.size for a in arrays if a is not None)
    try:
        return how.size(node, *arrays)
    except (AttributeError, TypeError):  # an input is missing; the mapping reports that
        return _OUTPUT_LIMIT + 1


def _computed(node: OnnxNode, how: Fold, arrays: list[Array | None]) -> Array | None:
    """Compute the node's only output by NumPy; None if it has several, or if the reference computes it."""
    if how.compute is None or len(node.proto.output) != 1:
        return None
    if not how.any_dtype and any(a is not None and a.dtype not in DTYPES for a in arrays):
        return None
    # on failure, the reference computes the result or refuses
    with suppress(Exception), np.errstate(all="ignore"):
        found = how.compute(node, *arrays)
        return None if found is None else np.asarray(found)
    return None


def _evaluate(node: OnnxNode, how: Fold, arrays: list[Array | None]) -> list[Array] | None:
    """Evaluate the node by NumPy or ONNX's reference; None if they cannot."""
    found = _computed(node, how, arrays)
    if found is not None:
        return [found]
    schema = schema_of(node.op, node.domain, node.version)
    if schema is None:  # the mapping reports the fault
        return None
    proto = onnx.NodeProto()
    proto.op_type = node.op
    proto.input.extend(f"i{index}" if array is not None else "" for index, array in enumerate(arrays))
    # the reference would assign the first result to the first named output
    proto.output.extend(f"o{index}" for index in range(len(node.proto.output)))
    proto.attribute.extend(node.attribute_protos())
    feeds = {f"i{index}": array for index, array in enumerate(arrays) if array is not None}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = _evaluator(proto.SerializeToString(), node.version).run(None, feeds)
    except Exception:  # the reference raises various exceptions; the mapping then reports the fault
        return None
    if any(isinstance(result, list) for result in results):
        return None  # the mapping handles sequences
    typed = _typed(schema, arrays, [np.asarray(result) for result in results])
    return None if any(array.dtype == object for array in typed) else typed


def _typed(schema: Any, arrays: list[Array | None], results: list[Array]) -> list[Array]:
    """Return the results in the data types of ONNX's schema, where NumPy chooses others (a sum of int32 is int64)."""
    kinds = {
        formal.type_str: array.dtype for formal, array in zip(schema.inputs, arrays, strict=False) if array is not None
    }
    names = [formal.type_str for formal in schema.outputs]
    return [
        result.astype(kinds.get(names[min(index, len(names) - 1)], result.dtype), copy=False)
        for index, result in enumerate(results)
    ]


@lru_cache(maxsize=256)
def _evaluator(proto: bytes, version: int) -> Any:
    from onnx.reference import ReferenceEvaluator  # imported here, because the import is slow and few models need it

    return ReferenceEvaluator(onnx.NodeProto.FromString(proto), opsets={"": version})
