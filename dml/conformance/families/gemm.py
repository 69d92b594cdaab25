"""Matrix products of numbers, and of 8-bit and other integers with zero points and scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import descriptors as d
from dml import enums
from dml.conformance.activations import activation_class, fused
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, flags, sizes, tensor
from dml.conformance.references import products
from dml.conformance.references.activations import activated
from dml.conformance.references.rounded import Rounded
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import finite, quantized

#: Rows, terms and columns: ones, primes, a single row or column, and sizes for a few workgroups.
_SIZES = sizes("5x7x3", "1x1x1", "1x61x17", "23x5x1", "2x1x19", "34x48x36", "70x33x65")
#: Fused softmaxes: over the last dimension, and over the first.
_SOFTMAX = {"SOFTMAX": activation_class("SOFTMAX")(), "SOFTMAX1": activation_class("SOFTMAX1")(Axes=(0,))}
_BATCHES = {"none": (), "2": (2,), "2x3": (2, 3), "1x2": (1, 2)}
_inputs = quantized(scale=(0.01, 0.1), output_scale=(1, 10), bias=(-4, 4))


def _describe_gemm(choice: Choice) -> dict[str, Any]:
    m, k, n = choice.sizes
    batch = choice.batch
    return {
        "ATensor": tensor(choice.type, (*batch, *((k, m) if choice.trans_a else (m, k)))),
        "BTensor": tensor(choice.type, (*batch, *((n, k) if choice.trans_b else (k, n)))),
        "CTensor": tensor(choice.type, (*batch, m, n)) if choice.c else None,
        "OutputTensor": tensor(choice.type, (*batch, m, n)),
        "TransA": enums.DML_MATRIX_TRANSFORM(int(choice.trans_a)),
        "TransB": enums.DML_MATRIX_TRANSFORM(int(choice.trans_b)),
        "Alpha": choice.alpha,
        "Beta": choice.beta,
        "FusedActivation": choice.activation,
    }


def _gemm(desc: Any, inputs: Inputs) -> Any:
    a, b, c = (Rounded(inputs[name]) if name in inputs else None for name in ("ATensor", "BTensor", "CTensor"))
    turned = enums.DML_MATRIX_TRANSFORM_TRANSPOSE
    product = products.gemm(
        a, b, c, desc.Alpha, desc.Beta, a_turned=desc.TransA == turned, b_turned=desc.TransB == turned
    )
    k = desc.ATensor.Sizes[-2 if desc.TransA == turned else -1]
    # WebNN's tolerance in ulp: 2 for each term, and 1 each for Alpha, Beta and C.
    result = activated(product, desc.FusedActivation)
    if desc.FusedActivation is not None:
        return result.expected(desc.OutputTensor, f"{k} products and an activation, in any order")
    limit = 2 * k + (desc.Alpha != 1) + (c is not None) * (1 + (desc.Beta != 1))
    why = f"WebNN: {limit} ulp; {k} products in any order where they cancel"
    return result.expected(desc.OutputTensor, why, limit)


subject(
    d.DML_GEMM_OPERATOR_DESC,
    parameters={
        "sizes": _SIZES,
        "batch": _BATCHES,
        "trans_a": flags(),
        "trans_b": flags(),
        "c": flags(),
        "alpha": {"1": 1.0, "-0.3": -0.3},
        "beta": {"1": 1.0, "0": 0.0, "2.5": 2.5},
        "activation": {**fused("RELU", "SIGMOID", "LEAKY_RELU"), **_SOFTMAX},
    },
    describe=_describe_gemm,
    reference=_gemm,
    inputs=finite,
)

# --- integers ---------------------------------------------------------------------------------------------------------


def _parameter(choice: Choice, kind: Any, axis: int, count: int) -> Any:
    """Return a scale or zero point, for the whole tensor or per row or column, with the choice's number of
    dimensions."""
    rank: int = choice.rank
    shape = [1] * rank
    if choice.per == "each":
        shape[max(axis, -rank)] = count
    return tensor(kind, shape)


def _sums(inputs: Inputs) -> Any:
    return products.less_zero_point(inputs, "A", -2) @ products.less_zero_point(inputs, "B", -1)


_INTEGER_PARAMETERS: dict[str, Any] = {
    "sizes": _SIZES,
    "batch": _BATCHES,
    "zero_points": flags(),
    "per": {"each": "each", "tensor": "tensor"},
    "rank": {"2": 2, "1": 1, "4": 4},
}


def _integer_tensors(choice: Choice, b_type: Any, output_type: Any) -> dict[str, Any]:
    m, k, n = choice.sizes
    batch = choice.batch
    found = {
        "ATensor": tensor(choice.type, (*batch, m, k)),
        "BTensor": tensor(b_type, (*batch, k, n)),
        "OutputTensor": tensor(output_type, (*batch, m, n)),
    }
    if choice.zero_points:
        found["AZeroPointTensor"] = _parameter(choice, choice.type, -2, m)
        found["BZeroPointTensor"] = _parameter(choice, b_type, -1, n)
    return found


subject(
    d.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC,
    parameters={"b_type": "BTensor", **_INTEGER_PARAMETERS},
    describe=lambda choice: _integer_tensors(choice, choice.b_type, enums.DML_TENSOR_DATA_TYPE_INT32),
    reference=lambda desc, inputs: Expected(_sums(inputs).astype(np.int32)),
    inputs=_inputs,
)


def _describe_quantized(choice: Choice) -> dict[str, Any]:
    m, _, n = choice.sizes
    found = _integer_tensors(choice, choice.b_type, choice.output_type)
    for which, axis, count in (("A", -2, m), ("B", -1, n), ("Output", -2, m)):
        found[f"{which}ScaleTensor"] = _parameter(choice, enums.DML_TENSOR_DATA_TYPE_FLOAT32, axis, count)
    if choice.zero_points:
        found["OutputZeroPointTensor"] = _parameter(choice, choice.output_type, -2, m)
    return found


def _quantized(desc: Any, inputs: Inputs) -> Expected:
    rank = desc.ATensor.rank
    a, b, out = (
        products.along(inputs[f"{name}ScaleTensor"], rank, axis)
        for name, axis in (("A", -2), ("B", -1), ("Output", -2))
    )
    zero_point = products.along(inputs.get("OutputZeroPointTensor"), rank, -2)
    return products.quantized(_sums(inputs) * a * b / out, zero_point, desc.OutputTensor)


subject(
    d.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC,
    parameters={"b_type": "BTensor", "output_type": "OutputTensor", **_INTEGER_PARAMETERS},
    describe=_describe_quantized,
    reference=_quantized,
    inputs=_inputs,
)


def _describe_to_float(choice: Choice) -> dict[str, Any]:
    m, _, n = choice.sizes
    found = _integer_tensors(choice, choice.type, choice.output_type)
    for which, axis, count in (("A", -2, m), ("B", -1, n)):
        found[f"{which}ScaleTensor"] = _parameter(choice, choice.output_type, axis, count)
    if choice.bias:
        found["BiasTensor"] = tensor(choice.output_type, (*choice.batch, m, n))
    return found


def _to_float(desc: Any, inputs: Inputs) -> Any:
    rank = desc.ATensor.rank
    a, b = (
        Rounded(products.less_zero_point(inputs, name, axis)) * products.along(inputs[f"{name}ScaleTensor"], rank, axis)
        for name, axis in (("A", -2), ("B", -1))
    )
    result = products.gemm(a, b, inputs.get("BiasTensor"), 1.0, 1.0, a_turned=False, b_turned=False)
    return result.expected(desc.OutputTensor, f"{desc.ATensor.Sizes[-1]} products of two scaled numbers, in any order")


subject(
    d.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC,
    parameters={"output_type": "OutputTensor", "bias": flags(), **_INTEGER_PARAMETERS},
    describe=_describe_to_float,
    reference=_to_float,
    inputs=_inputs,
)
