"""Operators whose result is known before anything runs."""

from __future__ import annotations

import numpy as np

from dml.errors import DMLError

from ...load.loading import array_of, sparse_array_of
from ...registry import onnx_fold, onnx_op
from .. import folds
from ..node import OnnxNode
from ..traced_arrays import of_sizes
from ..value import OnnxValue

# These have no mapping: ONNX defines most as functions, and the shape of Unique's result depends on values.
onnx_fold("Unique", fold=folds.REFERENCE)
onnx_fold("BlackmanWindow", "HammingWindow", "HannWindow", fold=folds.WINDOW)
onnx_fold("MelWeightMatrix", fold=folds.MEL_WEIGHT_MATRIX)


@onnx_op("Constant")
def constant(node: OnnxNode) -> OnnxValue:
    attributes = node.attributes
    if "value" in attributes:
        return node.constant(array_of(attributes["value"]))
    if "sparse_value" in attributes:
        return node.constant(sparse_array_of(attributes["sparse_value"]))
    for name, dtype in (("value_int", np.int64), ("value_float", np.float32)):
        for given in (name, f"{name}s"):
            if given in attributes:
                return node.constant(np.array(attributes[given], dtype))
    if "value_string" in attributes:
        return node.constant(np.array(node.text("value_string", ""), np.object_))
    if "value_strings" in attributes:
        texts = [text.decode(errors="replace") for text in attributes["value_strings"]]
        return node.constant(np.array(texts, np.object_))
    raise DMLError("has no value")


@onnx_op("Shape", fold=folds.NEVER)
def shape(node: OnnxNode) -> OnnxValue:
    end = node.attributes.get("end")
    sizes = node.input(0).shape[node.integer("start", 0) : None if end is None else int(end)]
    return node.constant(of_sizes(sizes))


@onnx_op("Size", fold=folds.NEVER)
def size(node: OnnxNode) -> OnnxValue:
    return node.constant(of_sizes(node.input(0).size))
