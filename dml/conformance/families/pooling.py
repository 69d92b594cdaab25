"""Pooling by mean, by norm and by maximum, its gradients, and unpooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.layouts import Tensor
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, flags, sizes, tensor, types_of
from dml.conformance.references import pooling as reference
from dml.conformance.references import products
from dml.conformance.references.rounded import Rounded
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, filled, finite, is_float, quantized
from dml.conformance.variety import chosen, exact
from dml.conformance.windows import gathered, pooled_by, window_of, window_parameters
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32
from dml.tensors import numpy_dtype


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

# --- maxima -----------------------------------------------------------------------------------------------------------


def _steps(desc: OperatorDesc, values: Values) -> Inputs:
    """Return few distinct values, so that equal ones occur in a window; for edge values, all special ones except
    NaN."""

    def make(name: str, given: Tensor) -> Any:
        found = values.fill(given)
        if not is_float(found.dtype):
            return found
        return np.where(np.isnan(found), 1, np.rint(found) if not values.edges else found).astype(found.dtype)

    return filled(desc, make)


def _describe_max(choice: Choice) -> dict[str, Any]:
    pooled, window = pooled_by(choice)
    indices = getattr(choice, "indices", None)
    more = {} if indices is None else {"OutputIndicesTensor": tensor(indices, pooled)}
    return {"OutputTensor": tensor(choice.type, pooled), **more, **window}


def _maximum(desc: Any, inputs: Inputs) -> Outputs:
    values, indices = reference.maximum(inputs["InputTensor"], **window_of(desc))
    found: dict[str, Any] = {"OutputTensor": chosen(values)}
    if getattr(desc, "OutputIndicesTensor", None) is not None:
        with np.errstate(all="ignore"):
            found["OutputIndicesTensor"] = Expected(indices.astype(numpy_dtype(desc.OutputIndicesTensor.DataType)))
    return found


for _pooling in (d.DML_MAX_POOLING_OPERATOR_DESC, d.DML_MAX_POOLING1_OPERATOR_DESC, d.DML_MAX_POOLING2_OPERATOR_DESC):
    _indices: dict[str, Any] = {}
    if _pooling is not d.DML_MAX_POOLING_OPERATOR_DESC:
        _indices = {"indices": {"none": None, **types_of(_pooling, "OutputIndicesTensor")}}
    _parameters = window_parameters(_pooling, **_indices)
    subject(_pooling, parameters=_parameters, describe=_describe_max, reference=_maximum, inputs=_steps)


def _describe_max_grad(choice: Choice) -> dict[str, Any]:
    pooled, window = pooled_by(choice)
    return {"InputGradientTensor": tensor(choice.type, pooled), **window}


def _max_grad(desc: Any, inputs: Inputs) -> Expected:
    x, gradient = inputs["InputTensor"], inputs["InputGradientTensor"].astype(np.float64)
    values, terms = (reference.maximum_grad(x, given, **window_of(desc)) for given in (gradient, np.abs(gradient)))
    return gathered(values, terms, desc)


subject(
    d.DML_MAX_POOLING_GRAD_OPERATOR_DESC,
    parameters=window_parameters(d.DML_MAX_POOLING_GRAD_OPERATOR_DESC),
    describe=_describe_max_grad,
    reference=_max_grad,
    inputs=lambda desc, values: {
        **_steps(desc, values),
        "InputGradientTensor": finite(desc, values)["InputGradientTensor"],
    },
)


def _describe_unpooling(choice: Choice) -> dict[str, Any]:
    batch, channels, height, width = choice.sizes
    down, right = choice.more
    return {
        "IndicesTensor": tensor(choice.indices, choice.sizes),
        "OutputTensor": tensor(choice.type, (batch, channels, height + down, width + right)),
    }


def _unpooled(desc: Any, inputs: Inputs) -> Expected:
    return exact(reference.unpool(inputs["InputTensor"], inputs["IndicesTensor"], desc.OutputTensor.Sizes))


def _unpooling_inputs(desc: Any, values: Values) -> Inputs:
    """Return indices in any order, each at most once; a few are outside the output."""
    count = math.prod(desc.OutputTensor.Sizes)
    places = values.rng.permutation(count + 3)[: math.prod(desc.InputTensor.Sizes)]
    indices = places.reshape(desc.IndicesTensor.Sizes).astype(numpy_dtype(desc.IndicesTensor.DataType))
    return {"InputTensor": values.fill(desc.InputTensor), "IndicesTensor": indices}


subject(
    d.DML_MAX_UNPOOLING_OPERATOR_DESC,
    parameters={
        # The work buffer of 1x1x8x8 fills its allocation exactly.
        "sizes": sizes("2x3x4x5", "1x1x1x1", "1x2x31x1", "3x1x1x7", "1x7x23x19", "1x1x8x8"),
        "more": {"0": (0, 0), "3.1": (3, 1), "0.20": (0, 20)},
        "indices": "IndicesTensor",
    },
    describe=_describe_unpooling,
    reference=_unpooled,
    inputs=_unpooling_inputs,
)
