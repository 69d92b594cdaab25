"""QUANTIZE_LINEAR, DEQUANTIZE_LINEAR and QUANTIZED_LINEAR_ADD: each step of their equations is a float32 operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.layouts import repeated
from dml.conformance.limits import Expected, Limit, webnn
from dml.conformance.parameters import Choice, flags, tensor
from dml.conformance.pointwise import REPEATED, SIZES, any_integers, drawn
from dml.conformance.references import quantization
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values, is_float
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT32
from dml.tensors import DML_BUFFER_TENSOR_DESC, numpy_dtype

Tensor = DML_BUFFER_TENSOR_DESC


def _any(values: Values, of: Tensor) -> Any:
    """Return integers over the whole range of their type, with its limits for edge values."""
    integers = any_integers(values, of)
    return np.where(values.rng.random(of.Sizes) < 0.3, values.fill(of), integers) if values.edges else integers


def _fields(choice: Choice, floats: Any, integers: Any) -> dict[str, Any]:
    return {
        "ScaleTensor": choice.second(tensor(floats, choice.sizes)),
        "ZeroPointTensor": choice.second(tensor(integers, choice.sizes)) if choice.zero_point else None,
        "OutputTensor": tensor(choice.to, choice.sizes),
    }


def _describe_quantize(choice: Choice) -> dict[str, Any]:
    floats = DML_TENSOR_DATA_TYPE_FLOAT32 if choice.type == DML_TENSOR_DATA_TYPE_INT32 else choice.type
    return _fields(choice, floats, choice.to)


def _quantize_inputs(desc: Any, values: Values) -> Inputs:
    """Return levels in and beyond the 8-bit range, a third of them halves, times scales; half of these are a power of
    two."""
    sizes, kind = desc.InputTensor.Sizes, numpy_dtype(desc.InputTensor.DataType)
    unit = 0.125 if is_float(kind) else 2.0**20
    scale = np.where(values.rng.random(sizes) < 0.5, unit, unit * values.rng.uniform(0.6, 1.4, sizes))
    scale = repeated(scale.astype(numpy_dtype(desc.ScaleTensor.DataType)), desc.ScaleTensor)
    levels = values.rng.uniform(-300, 300, sizes)
    levels = np.where(values.rng.random(sizes) < 1 / 3, np.floor(levels) + 0.5, levels)
    x = (levels * scale.astype(np.float64)).astype(kind)
    if values.edges:
        x = np.where(values.rng.random(sizes) < 0.3, values.fill(desc.InputTensor), x)
    given = {"InputTensor": x, "ScaleTensor": scale}
    return given if desc.ZeroPointTensor is None else {**given, "ZeroPointTensor": _any(values, desc.ZeroPointTensor)}


def _quantize(desc: Any, given: Inputs) -> Expected:
    kind = numpy_dtype(desc.OutputTensor.DataType)
    zero_point = given.get("ZeroPointTensor")
    return Expected(quantization.quantized(given["InputTensor"], given["ScaleTensor"], zero_point, kind))


_PARAMETERS: dict[str, Any] = {"sizes": SIZES, "to": "OutputTensor", "zero_point": flags(), "second": REPEATED}
subject(
    d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC,
    parameters=_PARAMETERS,
    describe=_describe_quantize,
    reference=_quantize,
    inputs=_quantize_inputs,
)


_WIDE = Limit((2, 1), why="a difference of 32 bits in float32, and a product")


def _dequantize_inputs(desc: Any, values: Values) -> Inputs:
    given = {"InputTensor": _any(values, desc.InputTensor), "ScaleTensor": drawn(values, desc.ScaleTensor, 1e-3, 1)}
    return given if desc.ZeroPointTensor is None else {**given, "ZeroPointTensor": _any(values, desc.ZeroPointTensor)}


def _dequantize(desc: Any, given: Inputs) -> Expected:
    values = quantization.dequantized(given["InputTensor"], given["ScaleTensor"], given.get("ZeroPointTensor"))
    limit = _WIDE if given["InputTensor"].dtype.itemsize == 4 else webnn(1, 1)
    return limit.expected(values, numpy_dtype(desc.OutputTensor.DataType))


subject(
    d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC,
    parameters=_PARAMETERS,
    describe=lambda choice: _fields(choice, choice.to, choice.type),
    reference=_dequantize,
    inputs=_dequantize_inputs,
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
