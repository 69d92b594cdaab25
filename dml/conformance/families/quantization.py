"""Quantization of numbers to integers and back: in blocks, per element, and by a scale found from the numbers.

Integers are exact, including halves and limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.layouts import Tensor, repeated
from dml.conformance.limits import Expected, Limit, webnn
from dml.conformance.parameters import Choice, flags, tensor
from dml.conformance.pointwise import ALL_RANKS, REPEATED, SIZES, any_integers, drawn
from dml.conformance.references import quantization
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values, integer_range, is_float
from dml.enums import (
    DML_QUANTIZATION_TYPE_SCALE,
    DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT,
    DML_TENSOR_DATA_TYPE_FLOAT32,
    DML_TENSOR_DATA_TYPE_INT32,
)
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


def _levels(values: Values, sizes: tuple[int, ...], low: float, high: float) -> Any:
    """Return numbers in a range; a third of them lie halfway between two integers."""
    levels = values.rng.uniform(low, high, sizes)
    return np.where(values.rng.random(sizes) < 1 / 3, np.floor(levels) + 0.5, levels)


def _with_edges(values: Values, tensor: Tensor, array: Any) -> Any:
    """Return the array; for edge values, any numbers of the tensor's type replace a third of it."""
    return np.where(values.rng.random(tensor.Sizes) < 0.3, values.fill(tensor), array) if values.edges else array


def _quantize_inputs(desc: Any, values: Values) -> Inputs:
    """Return levels inside and outside the output's range."""
    parameters = _parameters(desc, values)
    low, high = integer_range(numpy_dtype(desc.OutputTensor.DataType))
    levels = _levels(values, desc.InputTensor.Sizes, low - 20, high + 20)
    x = levels * quantization.spread(parameters[0].astype(np.float64), levels.shape)
    x = _with_edges(values, desc.InputTensor, x.astype(numpy_dtype(desc.InputTensor.DataType)))
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

# --- with a scale and a zero point per element: each step of the equations is a float32 operation ---------------------


def _any(values: Values, tensor: Tensor) -> Any:
    """Return integers over the whole range of their type; the edge values are the range's limits."""
    return _with_edges(values, tensor, any_integers(values, tensor))


def _fields(choice: Choice, floats: Any, integers: Any) -> dict[str, Any]:
    return {
        "ScaleTensor": choice.second(tensor(floats, choice.sizes)),
        "ZeroPointTensor": choice.second(tensor(integers, choice.sizes)) if choice.zero_point else None,
        "OutputTensor": tensor(choice.to, choice.sizes),
    }


def _describe_quantize_linear(choice: Choice) -> dict[str, Any]:
    floats = DML_TENSOR_DATA_TYPE_FLOAT32 if choice.type == DML_TENSOR_DATA_TYPE_INT32 else choice.type
    return _fields(choice, floats, choice.to)


def _quantize_linear_inputs(desc: Any, values: Values) -> Inputs:
    """Return numbers that quantize to levels inside and outside the 8-bit range, a third of them halfway between two
    levels. Half of the scales are powers of two."""
    sizes, kind = desc.InputTensor.Sizes, numpy_dtype(desc.InputTensor.DataType)
    unit = 0.125 if is_float(kind) else 2.0**20
    scale = np.where(values.rng.random(sizes) < 0.5, unit, unit * values.rng.uniform(0.6, 1.4, sizes))
    scale = repeated(scale.astype(numpy_dtype(desc.ScaleTensor.DataType)), desc.ScaleTensor)
    x = (_levels(values, sizes, -300, 300) * scale.astype(np.float64)).astype(kind)
    given = {"InputTensor": _with_edges(values, desc.InputTensor, x), "ScaleTensor": scale}
    return given if desc.ZeroPointTensor is None else {**given, "ZeroPointTensor": _any(values, desc.ZeroPointTensor)}


def _quantize_linear(desc: Any, given: Inputs) -> Expected:
    kind = numpy_dtype(desc.OutputTensor.DataType)
    zero_point = given.get("ZeroPointTensor")
    return Expected(quantization.quantized(given["InputTensor"], given["ScaleTensor"], zero_point, kind))


_PARAMETERS: dict[str, Any] = {"sizes": SIZES, "to": "OutputTensor", "zero_point": flags(), "second": REPEATED}
subject(
    d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC,
    parameters=_PARAMETERS,
    describe=_describe_quantize_linear,
    reference=_quantize_linear,
    inputs=_quantize_linear_inputs,
)


_WIDE = Limit((2, 1), why="a difference of 32 bits in float32, and a product")


def _dequantize_linear_inputs(desc: Any, values: Values) -> Inputs:
    given = {"InputTensor": _any(values, desc.InputTensor), "ScaleTensor": drawn(values, desc.ScaleTensor, 1e-3, 1)}
    return given if desc.ZeroPointTensor is None else {**given, "ZeroPointTensor": _any(values, desc.ZeroPointTensor)}


def _dequantize_linear(desc: Any, given: Inputs) -> Expected:
    values = quantization.dequantized(given["InputTensor"], given["ScaleTensor"], given.get("ZeroPointTensor"))
    limit = _WIDE if given["InputTensor"].dtype.itemsize == 4 else webnn(1, 1)
    return limit.expected(values, numpy_dtype(desc.OutputTensor.DataType))


subject(
    d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC,
    parameters=_PARAMETERS,
    describe=lambda choice: _fields(choice, choice.to, choice.type),
    reference=_dequantize_linear,
    inputs=_dequantize_linear_inputs,
)


_PARTS = ("A", "B", "Output")


def _describe_add(choice: Choice) -> dict[str, Any]:
    single = (1,) * len(choice.sizes)
    kinds = {"A": choice.type, "B": choice.b, "Output": choice.to}
    fields = {f"{part}Tensor": tensor(kind, choice.sizes) for part, kind in kinds.items()}
    fields |= {f"{part}ScaleTensor": tensor(DML_TENSOR_DATA_TYPE_FLOAT32, single) for part in _PARTS}
    return fields | {f"{part}ZeroPointTensor": tensor(kinds[part], single) for part in choice.zero_points}


def _add_inputs(desc: Any, values: Values) -> Inputs:
    scales = ((0.25, 0.5, 1.0), (0.1, 0.33, 0.2))[values.rng.integers(2)]
    given: dict[str, Any] = {"ATensor": _any(values, desc.ATensor), "BTensor": _any(values, desc.BTensor)}
    for part, scale in zip(_PARTS, scales, strict=True):
        given[f"{part}ScaleTensor"] = np.full(desc.AScaleTensor.Sizes, scale, np.float32)
        zero_point = getattr(desc, f"{part}ZeroPointTensor")
        if zero_point is not None:
            given[f"{part}ZeroPointTensor"] = values.between(zero_point, -9, 9)
    return given


def _add(desc: Any, given: Inputs) -> Expected:
    terms = [
        quantization.difference(given[f"{part}Tensor"], given.get(f"{part}ZeroPointTensor")).astype(np.float32)
        * given[f"{part}ScaleTensor"]
        for part in ("A", "B")
    ]
    kind, zero_point = numpy_dtype(desc.OutputTensor.DataType), given.get("OutputZeroPointTensor")
    total = terms[0] + terms[1]
    return Expected(quantization.quantized(total, given["OutputScaleTensor"], zero_point, kind))


subject(
    d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC,
    parameters={
        "sizes": SIZES,
        "b": "BTensor",
        "to": "OutputTensor",
        "zero_points": {"all": _PARTS, "none": (), "A": ("A",), "Output": ("Output",)},
    },
    describe=_describe_add,
    reference=_add,
    inputs=_add_inputs,
)
