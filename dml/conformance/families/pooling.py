"""Pooling by mean and by norm, also of quantized numbers, and the mean's gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.filling import finite, quantized
from dml.conformance.layouts import Tensor
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, flags, tensor
from dml.conformance.references import pooling as reference
from dml.conformance.references import products
from dml.conformance.references.rounded import Rounded
from dml.conformance.subject import Inputs, subject
from dml.conformance.windows import gathered, pooled_by, window_of, window_parameters
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32


def _average(desc: Any, inputs: Inputs) -> Any:
    mean = reference.average(Rounded(inputs["InputTensor"]), include_padding=desc.IncludePadding, **window_of(desc))
    limit = math.prod(desc.WindowSize) + 2
    return mean.expected(desc.OutputTensor, f"WebNN: {limit} ulp, a sum in any order where it cancels", limit)


def _lp(desc: Any, inputs: Inputs) -> Expected:
    norm = reference.lp(inputs["InputTensor"], p=desc.P, **window_of(desc))
    if desc.OutputTensor.element_bits == 16:
        return Expected(norm, 1.0, 0.0, "a float32 norm, rounded to FLOAT16")
    limit = math.prod(desc.WindowSize) + 2 + (6 if desc.P > 1 else 0)
    return Expected(norm, limit, 0.0, f"WebNN: {limit} ulp, powers and a root among them")


def _describe(choice: Choice) -> dict[str, Any]:
    pooled, window = pooled_by(choice)
    p = getattr(choice, "p", None)
    more = {"IncludePadding": choice.include_padding} if p is None else {"P": p}
    return {"OutputTensor": tensor(choice.type, pooled), **window, **more}


_PADDING = {"include_padding": flags()}
_POWERS = {"p": {"2": 2, "1": 1, "3": 3, "7": 7}}
for _operator, _more, _reference in (
    (d.DML_AVERAGE_POOLING_OPERATOR_DESC, _PADDING, _average),
    (d.DML_AVERAGE_POOLING1_OPERATOR_DESC, _PADDING, _average),
    (d.DML_LP_POOLING_OPERATOR_DESC, _POWERS, _lp),
    (d.DML_LP_POOLING1_OPERATOR_DESC, _POWERS, _lp),
):
    _parameters = window_parameters(_operator, **_more)
    subject(_operator, parameters=_parameters, describe=_describe, reference=_reference, inputs=finite)


def _describe_average_grad(choice: Choice) -> dict[str, Any]:
    pooled, window = pooled_by(choice)
    return {
        "InputGradientTensor": tensor(choice.type, pooled),
        **window,
        "IncludePadding": choice.include_padding,
    }


def _average_grad(desc: Any, inputs: Inputs) -> Expected:
    gradient = inputs["InputGradientTensor"].astype(np.float64)
    values, terms = (
        reference.average_grad(
            given, desc.OutputGradientTensor.Sizes, include_padding=desc.IncludePadding, **window_of(desc)
        )
        for given in (gradient, np.abs(gradient))
    )
    return gathered(values, terms, desc)


subject(
    d.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC,
    parameters=window_parameters(d.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC, **_PADDING),
    describe=_describe_average_grad,
    reference=_average_grad,
    inputs=finite,
)

# --- quantized --------------------------------------------------------------------------------------------------------


def _describe_quantized(choice: Choice) -> dict[str, Any]:
    pooled, window = pooled_by(choice)

    def parameter(kind: Any) -> Tensor:
        if choice.per == "channel":
            return tensor(kind, (1, choice.sizes[1], *(1,) * (len(choice.sizes) - 2)))
        return tensor(kind, (1,) * (choice.rank or len(choice.sizes)))

    zero_points: dict[str, Any] = {}
    if choice.zero_points:
        zero_points["InputZeroPointTensor"] = parameter(choice.type)
        zero_points["OutputZeroPointTensor"] = parameter(choice.output_type)
    return {
        "InputScaleTensor": parameter(DML_TENSOR_DATA_TYPE_FLOAT32),
        "OutputScaleTensor": parameter(DML_TENSOR_DATA_TYPE_FLOAT32),
        **zero_points,
        "OutputTensor": tensor(choice.output_type, pooled),
        **window,
        "IncludePadding": choice.include_padding,
    }


def _quantized(desc: Any, inputs: Inputs) -> Expected:
    mean = reference.average(
        products.less_zero_point(inputs, "Input", 1), include_padding=desc.IncludePadding, **window_of(desc)
    )
    scale, of_output, zero_point = (
        products.along(inputs.get(name), mean.ndim, 1)
        for name in ("InputScaleTensor", "OutputScaleTensor", "OutputZeroPointTensor")
    )
    return products.quantized(mean * scale / of_output, zero_point, desc.OutputTensor)


subject(
    d.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
    parameters=window_parameters(
        d.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
        output_type="OutputTensor",
        **_PADDING,
        zero_points=flags(),
        per={"tensor": "tensor", "channel": "channel"},
        rank={"all": None, "1": 1},
    ),
    describe=_describe_quantized,
    reference=_quantized,
    inputs=quantized(scale=(0.5, 1.5), output_scale=(0.5, 1.5)),
)
