"""Pooling by maximum, its gradient, and unpooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.filling import filled, finite
from dml.conformance.layouts import Tensor
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, sizes, tensor, types_of
from dml.conformance.references import pooling as reference
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, is_float
from dml.conformance.variety import chosen, exact
from dml.conformance.windows import gathered, pooled_by, window_of, window_parameters
from dml.descriptors.base import OperatorDesc
from dml.tensors import numpy_dtype


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


for _operator in (d.DML_MAX_POOLING_OPERATOR_DESC, d.DML_MAX_POOLING1_OPERATOR_DESC, d.DML_MAX_POOLING2_OPERATOR_DESC):
    _indices: dict[str, Any] = {}
    if _operator is not d.DML_MAX_POOLING_OPERATOR_DESC:
        _indices = {"indices": {"none": None, **types_of(_operator, "OutputIndicesTensor")}}
    _parameters = window_parameters(_operator, **_indices)
    subject(_operator, parameters=_parameters, describe=_describe_max, reference=_maximum, inputs=_steps)


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
