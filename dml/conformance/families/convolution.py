"""Convolutions in one to three dimensions: of numbers, forward and backward, and of quantized numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dml import descriptors as d
from dml import enums
from dml.conformance.activations import fused
from dml.conformance.layouts import Tensor
from dml.conformance.limits import Expected, sum_of_products
from dml.conformance.parameters import Choice, Skip, enumerators, flags, sizes, tensor
from dml.conformance.references import convolution as reference
from dml.conformance.references import products
from dml.conformance.references.activations import activated
from dml.conformance.references.rounded import Rounded
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import finite, quantized
from dml.conformance.windows import along
from dml.shapes import convolved_sizes, transposed_sizes

#: Batch, channels per group, spatial sizes: one to three dimensions, with sizes of one, primes, and enough elements for
#: a few workgroups.
_SIZES = sizes("2x3x9x8", "1x1x1x1", "1x2x17", "3x1x31", "1x5x13x7", "1x16x20x22", "2x2x5x4x6", "1x1x7x1x3")
_FLAT_SIZES = {label: value for label, value in _SIZES.items() if len(value) < 5}
#: Values by label, cycled over the spatial dimensions.
_ALONG: dict[str, Any] = {
    "window": {"3": (3,), "1": (1,), "2.3": (2, 3), "5.1": (5, 1)},
    "strides": {"1": (1,), "2": (2,), "1.3": (1, 3)},
    "dilations": {"1": (1,), "2": (2,), "1.3": (1, 3)},
    "padding": {"0": ((0,), (0,)), "1": ((1,), (1,)), "0.2_1": ((0, 2), (1,))},  # (before, after)
}
_CHANNELS: dict[str, Any] = {"outputs": {"4": 4, "1": 1, "19": 19}, "groups": {"1": 1, "2": 2, "5": 5}}


def _geometry(choice: Choice, *, backward: bool = False) -> dict[str, Any]:
    """Return sizes of InputTensor, FilterTensor and OutputTensor, and the window's fields. Raises Skip if none fits."""
    batch, channels, *spatial = choice.sizes

    def each(values: Sequence[int]) -> tuple[int, ...]:
        return along(choice.sizes, values)

    strides, dilations = each(choice.strides), each(choice.dilations)
    start, end = map(each, choice.padding)
    window = {"Strides": strides, "Dilations": dilations, "StartPadding": start, "EndPadding": end}
    source = (batch, channels * choice.groups, *spatial)
    result: tuple[int, ...]
    if backward:
        weights = (source[1], choice.outputs, *each(choice.window))
        more = each(choice.output_padding)
        result = transposed_sizes(source, weights, strides, dilations, start, end, more, choice.groups)
        window["OutputPadding"] = more
    else:
        weights = (choice.outputs * choice.groups, channels, *each(choice.window))
        result = convolved_sizes(source, weights, strides, dilations, start, end)
    if min(result) < 1:
        raise Skip("the window does not fit into the padded input")
    return {"source": source, "weights": weights, "result": result, "window": {**window, "GroupCount": choice.groups}}


def _arguments(desc: Any) -> tuple[Any, ...]:
    """Return the arguments that describe the window, as the references take them."""
    return desc.Strides, desc.Dilations, desc.StartPadding, desc.EndPadding, desc.GroupCount


def _describe(choice: Choice) -> dict[str, Any]:
    backward = choice.direction == enums.DML_CONVOLUTION_DIRECTION_BACKWARD
    if not backward and any(choice.output_padding):
        raise Skip("output padding belongs to backward convolutions")
    geometry = _geometry(choice, backward=backward)
    bias = (1, geometry["result"][1], *(1,) * (len(geometry["result"]) - 2))
    return {
        "InputTensor": tensor(choice.type, geometry["source"]),
        "FilterTensor": tensor(choice.type, geometry["weights"]),
        "BiasTensor": tensor(choice.type, bias) if choice.bias else None,
        "OutputTensor": tensor(choice.type, geometry["result"]),
        "Mode": choice.mode,
        "Direction": choice.direction,
        "OutputPadding": (0,) * (len(bias) - 2),
        **geometry["window"],
        "FusedActivation": choice.activation,
    }


def _convolution(desc: Any, inputs: Inputs) -> Any:
    backward = desc.Direction == enums.DML_CONVOLUTION_DIRECTION_BACKWARD
    convolve = reference.backward if backward else reference.forward
    arguments = (*_arguments(desc), desc.Mode == enums.DML_CONVOLUTION_MODE_CONVOLUTION, desc.OutputPadding)
    x, w = (inputs[name].astype(np.float64) for name in ("InputTensor", "FilterTensor"))
    bias = inputs["BiasTensor"].astype(np.float64) if "BiasTensor" in inputs else 0.0
    values = convolve(x, w, *arguments) + bias
    terms = convolve(np.abs(x), np.abs(w), *arguments) + np.abs(bias)
    count = x.shape[1] // desc.GroupCount * math.prod(w.shape[2:])
    sums = Rounded(values, sum_of_products(count, terms, np.dtype(np.float32), values))
    if desc.FusedActivation is not None:
        why = f"{count} products and an activation, in any order"
        return activated(sums, desc.FusedActivation).expected(desc.OutputTensor, why)
    why = f"WebNN: {2 * count} ulp; {count} products in any order where they cancel"
    return sums.expected(desc.OutputTensor, why, 2 * count)


subject(
    d.DML_CONVOLUTION_OPERATOR_DESC,
    parameters={
        "sizes": {**_SIZES, **sizes("1x17x12x12")},
        **_CHANNELS,
        **_ALONG,
        "output_padding": {"0": (0,), "1.0": (1, 0)},
        "mode": enumerators(reversed(enums.DML_CONVOLUTION_MODE)),
        "direction": enumerators(enums.DML_CONVOLUTION_DIRECTION),
        "bias": flags(),
        "activation": fused("RELU", "SIGMOID", "SHRINK"),
    },
    describe=_describe,
    reference=_convolution,
    inputs=finite,
)

# --- quantized --------------------------------------------------------------------------------------------------------


def _parameter(choice: Choice, kind: Any, count: int = 1) -> Tensor:
    """Return a scale or zero point with the choice's number of dimensions; channels are dimension 1 if there is one."""
    rank = choice.rank or len(choice.sizes)
    shape = [1] * rank
    shape[min(1, rank - 1)] = count if choice.per == "channel" else 1
    return tensor(kind, shape)


def _describe_integer(choice: Choice, output_type: Any = enums.DML_TENSOR_DATA_TYPE_INT32) -> dict[str, Any]:
    geometry = _geometry(choice)
    found = {
        "InputTensor": tensor(choice.type, geometry["source"]),
        "FilterTensor": tensor(choice.filter_type, geometry["weights"]),
        "OutputTensor": tensor(output_type, geometry["result"]),
        **geometry["window"],
    }
    if choice.zero_points:
        found["InputZeroPointTensor"] = _parameter(choice, choice.type)
        found["FilterZeroPointTensor"] = _parameter(choice, choice.filter_type, geometry["weights"][0])
    return found


def _describe_quantized(choice: Choice) -> dict[str, Any]:
    found = _describe_integer(choice, choice.output_type)
    filters, *window = found["FilterTensor"].Sizes
    for name, count in (("Input", 1), ("Filter", filters), ("Output", 1)):
        found[f"{name}ScaleTensor"] = _parameter(choice, enums.DML_TENSOR_DATA_TYPE_FLOAT32, count)
    if choice.zero_points:
        found["OutputZeroPointTensor"] = _parameter(choice, choice.output_type)
    if choice.bias:
        found["BiasTensor"] = tensor(enums.DML_TENSOR_DATA_TYPE_INT32, (1, filters, *(1 for _ in window[1:])))
    return found


#: Scales spread the results over the output's range.
_quantized_inputs = quantized(scale=(0.02, 0.1), output_scale=(2, 10), bias=(-9000, 9000))


def _sums(desc: Any, inputs: Inputs) -> Any:
    x = products.less_zero_point(inputs, "Input", 1)
    return reference.forward(x, products.less_zero_point(inputs, "Filter", 0), *_arguments(desc))


def _quantized(desc: Any, inputs: Inputs) -> Expected:
    sums = _sums(desc, inputs)
    if "BiasTensor" in inputs:
        sums = sums + inputs["BiasTensor"]
    scale, of_filter, of_output = (
        products.along(inputs[f"{name}ScaleTensor"], sums.ndim, 1) for name in ("Input", "Filter", "Output")
    )
    zero_point = products.along(inputs.get("OutputZeroPointTensor"), sums.ndim, 1)
    return products.quantized(sums * scale * of_filter / of_output, zero_point, desc.OutputTensor)


_QUANTIZED: dict[str, Any] = {
    "sizes": _FLAT_SIZES,
    **_CHANNELS,
    **_ALONG,
    "zero_points": flags(),
    "per": {"channel": "channel", "tensor": "tensor"},
    "rank": {"all": None, "1": 1},
}
subject(
    d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC,
    parameters={"filter_type": "FilterTensor", **_QUANTIZED},
    describe=_describe_integer,
    reference=lambda desc, inputs: Expected(_sums(desc, inputs).astype(np.int32)),
    inputs=_quantized_inputs,
)
subject(
    d.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
    parameters={"filter_type": "FilterTensor", "output_type": "OutputTensor", "bias": flags(), **_QUANTIZED},
    describe=_describe_quantized,
    reference=_quantized,
    inputs=_quantized_inputs,
)
