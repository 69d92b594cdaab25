"""QUANTIZE and DEQUANTIZE in blocks, and DYNAMIC_QUANTIZE_LINEAR: integers are exact, including halves and limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.limits import Expected, webnn
from dml.conformance.parameters import Choice, flags, tensor
from dml.conformance.pointwise import ALL_RANKS
from dml.conformance.references import quantization
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values, integer_range, is_float
from dml.enums import DML_QUANTIZATION_TYPE_SCALE, DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT
from dml.tensors import numpy_dtype

#: Sizes of the tensor, and of scale and zero point: per tensor, row or channel, and blocks along one or two dimensions.
_BLOCKS = {
    "3x5by3x1": ((3, 5), (3, 1)),
    "1by1": ((1,), (1,)),
    "67by1": ((67,), (1,)),
    "4x6by1x1": ((4, 6), (1, 1)),
    "2x3x4x5by1x3x1x1": ((2, 3, 4, 5), (1, 3, 1, 1)),
    "8x6by2x3": ((8, 6), (2, 3)),
    "2x4x9by1x2x9": ((2, 4, 9), (1, 2, 9)),
    "2x3x1x2x2x4x2x6by1x3x1x2x1x2x2x3": ((2, 3, 1, 2, 2, 4, 2, 6), (1, 3, 1, 2, 1, 2, 2, 3)),
    "30x160by30x10": ((30, 160), (30, 10)),
}


def _describe(choice: Choice) -> dict[str, Any]:
    whole, blocks = choice.sizes
    quantizes = is_float(numpy_dtype(choice.type))
    integers, floats = (choice.to, choice.type) if quantizes else (choice.type, choice.to)
    scale, zero_point = tensor(floats, blocks), tensor(integers, blocks)
    kind = DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT if choice.zero_point else DML_QUANTIZATION_TYPE_SCALE
    return {
        "InputTensor": tensor(choice.type, whole),
        "QuantizationType": kind,
        "QuantizationTensors": [scale, zero_point] if choice.zero_point else [scale],
        "OutputTensor": tensor(choice.to, whole),
    }


def _parameters(desc: Any, values: Values) -> list[Any]:
    """Return scales of both signs, and zero points of any value."""
    scale, *zero_point = desc.QuantizationTensors
    scales = values.between(scale, 0.05, 2) * np.where(values.rng.random(scale.Sizes) < 0.2, -1, 1)
    whole = [values.integers(item, *integer_range(numpy_dtype(item.DataType))) for item in zero_point]
    return [scales.astype(numpy_dtype(scale.DataType)), *whole]


def _quantize_inputs(desc: Any, values: Values) -> Inputs:
    """Return levels inside and outside the output's range; a third of them are halves."""
    parameters = _parameters(desc, values)
    kind = numpy_dtype(desc.InputTensor.DataType)
    low, high = integer_range(numpy_dtype(desc.OutputTensor.DataType))
    levels = values.rng.uniform(low - 20, high + 20, desc.InputTensor.Sizes)
    levels = np.where(values.rng.random(levels.shape) < 1 / 3, np.floor(levels) + 0.5, levels)
    x = (levels * quantization.spread(parameters[0].astype(np.float64), levels.shape)).astype(kind)
    if values.edges:
        x = np.where(values.rng.random(x.shape) < 0.3, values.fill(desc.InputTensor), x)
    return {"InputTensor": x, "QuantizationTensors": parameters}


def _dequantize_inputs(desc: Any, values: Values) -> Inputs:
    x = values.integers(desc.InputTensor, *integer_range(numpy_dtype(desc.InputTensor.DataType)))
    return {"InputTensor": x, "QuantizationTensors": _parameters(desc, values)}


def _spread(desc: Any, given: Inputs) -> tuple[Any, Any]:
    """Return the scale and the zero point of each element."""
    scale, *zero_point = (quantization.spread(item, desc.InputTensor.Sizes) for item in given["QuantizationTensors"])
    return scale, zero_point[0] if zero_point else None


def _quantize(desc: Any, given: Inputs) -> Expected:
    scale, zero_point = _spread(desc, given)
    kind = numpy_dtype(desc.OutputTensor.DataType)
    return Expected(quantization.quantized(given["InputTensor"], scale, zero_point, kind))


def _dequantize(desc: Any, given: Inputs) -> Expected:
    values = quantization.dequantized(given["InputTensor"], *_spread(desc, given))
    return webnn(1, 1).expected(values, numpy_dtype(desc.OutputTensor.DataType))


for _operator, _reference, _inputs, _values in (
    (d.DML_QUANTIZE_OPERATOR_DESC, _quantize, _quantize_inputs, ("ordinary", "edges")),
    (d.DML_DEQUANTIZE_OPERATOR_DESC, _dequantize, _dequantize_inputs, ("ordinary",)),
):
    subject(
        _operator,
        parameters={"sizes": _BLOCKS, "to": "OutputTensor", "zero_point": flags()},
        describe=_describe,
        reference=_reference,
        inputs=_inputs,
        values=_values,
    )


#: Ranges on both sides of zero, on one side, empty, and near the limits of FLOAT16.
_RANGES = ((-3.0, 5.0), (1.0, 4.0), (-4.0, -1.0), (0.0, 0.0), (-1e-3, 1e-3), (-6e4, 6e4))


def _describe_dynamic(choice: Choice) -> dict[str, Any]:
    single = (1,) * len(choice.sizes)
    return {
        "OutputTensor": tensor(choice.to, choice.sizes),
        "OutputScaleTensor": tensor(choice.scale, single),
        "OutputZeroPointTensor": tensor(choice.to, single),
    }


def _dynamic_inputs(desc: Any, values: Values) -> Inputs:
    """Return numbers in one of the ranges, or halves over a range whose scale is 1. Infinities and NaN have no
    scale."""
    x = desc.InputTensor
    which = values.rng.integers(len(_RANGES) + 2)
    if which < len(_RANGES):
        return {"InputTensor": values.between(x, *_RANGES[which])}
    halves = values.integers(x, -100, 154) + np.array(0.5, numpy_dtype(x.DataType))
    halves.reshape(-1)[[0, -1]] = -100, 155
    return {"InputTensor": halves}


def _dynamic(desc: Any, given: Inputs) -> dict[str, Expected]:
    kind = numpy_dtype(desc.OutputTensor.DataType)
    levels, scale, zero_point = quantization.dynamically(given["InputTensor"], kind)
    single = desc.OutputScaleTensor.Sizes
    return {
        "OutputTensor": Expected(levels),
        "OutputScaleTensor": Expected(np.full(single, scale, np.float64)),
        "OutputZeroPointTensor": Expected(np.full(single, zero_point).astype(kind)),
    }


subject(
    d.DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC,
    parameters={"sizes": ALL_RANKS, "to": "OutputTensor", "scale": "OutputScaleTensor"},
    describe=_describe_dynamic,
    reference=_dynamic,
    inputs=_dynamic_inputs,
    values=("ordinary",),
)
