"""Graphs: epilogues of kernels, weights read in their stored form, tensors that are parts of larger ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dml import enums
from dml.capability import short_name
from dml.conformance.case import Case
from dml.conformance.graphs import SUITE_OPERATOR_TYPE, GraphDesc
from dml.conformance.layouts import Tensor, owned, tensors
from dml.conformance.limits import Expected, spacing, sum_of_products
from dml.conformance.parameters import Choice, Skip, data_types, flags, sizes, tensor
from dml.conformance.subject import Inputs, Outputs, subject, subjects
from dml.conformance.values import Values
from dml.conformance.variety import exact
from dml.descriptors import operators
from dml.descriptors import quantization as quantized
from dml.graph import operations as op

_FLOATS = data_types("FLOAT32", "FLOAT16")
_F, _G = "FactorTensor", "AddendTensor"

#: Operators that take an epilogue: a case for each kernel that selection may choose.
_OF = {
    "gemm": "GEMM",
    "gemm_c": "GEMM:c=yes,sizes=5x66x70",
    "gemm_row": "GEMM:sizes=1x256x96",
    "gemm_rows": "GEMM:sizes=4x256x96,trans_b=yes",
    "gemm_wide": "GEMM:sizes=70x64x132",
    "gemm_tall": "GEMM:sizes=256x32x64,c=yes",
    "integers": "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
    "convolution": "CONVOLUTION",
    "window_3": "CONVOLUTION:sizes=1x16x12x12,outputs=8,padding=1,bias=yes",
    "window_1": "CONVOLUTION:sizes=1x16x8x12,outputs=12,window=1",
    "strided": "CONVOLUTION:sizes=1x8x13x13,outputs=8,strides=2,padding=1",
    "depthwise": "CONVOLUTION:sizes=1x1x14x14,outputs=1,groups=8,padding=1,bias=yes",
    "backward": "CONVOLUTION:sizes=1x8x7x7,outputs=4,strides=2,direction=BACKWARD",
    "average": "AVERAGE_POOLING",
    "average_3": "AVERAGE_POOLING:sizes=1x8x15x15,window=3,padding=1",
    "maximum": "MAX_POOLING",
    "maximum_3": "MAX_POOLING:sizes=1x8x15x15,window=3,strides=2,padding=1",
    "lp": "LP_POOLING",
    "mean": "REDUCE:function=AVERAGE",
    "sum_of_rows": "REDUCE:function=SUM,sizes=6x64,axes=first",
    "largest": "REDUCE:function=MAX",
    "softmax": "ACTIVATION_SOFTMAX",
    "log_softmax": "ACTIVATION_LOG_SOFTMAX",
    "moments": "MEAN_VARIANCE_NORMALIZATION2",
    "moments_1": "MEAN_VARIANCE_NORMALIZATION1",
    "lp_normalization": "LP_NORMALIZATION",
    "local_response": "LOCAL_RESPONSE_NORMALIZATION",
    "gather": "GATHER",
    "gather_elements": "GATHER_ELEMENTS",
    "gather_nd": "GATHER_ND",
    "resample": "RESAMPLE",
    "upsample": "UPSAMPLE_2D",
    "softmax_1": "ACTIVATION_SOFTMAX1",
    "log_softmax_1": "ACTIVATION_LOG_SOFTMAX1",
    "resample_3": "RESAMPLE3",
    # an integer result, which the expression converts
    "integer_product": "MATRIX_MULTIPLY_INTEGER",
    "integer_rows": "MATRIX_MULTIPLY_INTEGER:sizes=4x256x96",
    "integer_window": "CONVOLUTION_INTEGER:sizes=1x16x12x12,outputs=8,padding=1",
    "integer_depthwise": "CONVOLUTION_INTEGER:sizes=1x1x14x14,outputs=1,groups=8,padding=1",
    "quantized_product": "QUANTIZED_LINEAR_MATRIX_MULTIPLY",
    "quantized_depthwise": "QUANTIZED_LINEAR_CONVOLUTION:sizes=1x1x14x14,outputs=1,groups=8,padding=1",
}  # fmt: skip


class _Epilogue(GraphDesc):
    OPERATOR_TYPE = SUITE_OPERATOR_TYPE.SUITE_OPERATOR_GRAPH_EPILOGUE


class _Operator(GraphDesc):
    OPERATOR_TYPE = SUITE_OPERATOR_TYPE.SUITE_OPERATOR_GRAPH_OPERATOR


class _Parts(GraphDesc):
    OPERATOR_TYPE = SUITE_OPERATOR_TYPE.SUITE_OPERATOR_GRAPH_PARTS


class _StoredWeights(GraphDesc):
    OPERATOR_TYPE = SUITE_OPERATOR_TYPE.SUITE_OPERATOR_GRAPH_STORED_WEIGHTS


def _inner(choice: Choice) -> Case:
    """Return the case whose operator computes the input of the epilogue."""
    name, _, rest = choice.of.partition(":")
    if name.endswith("_TO_FLOAT"):
        kind = f"output_type={choice.label('type')}"
    elif choice.label("type") in subjects()[name].parameters["type"]:
        kind = f"type={choice.label('type')}"
    else:
        kind = ""  # integers
    return Case.parse(f"{name}:{','.join(filter(None, (kind, rest)))}")


def _with_epilogue(choice: Choice) -> _Epilogue:
    case = _inner(choice)
    desc = case.desc
    ((name, output),) = ((name, described) for name, _, described in tensors(desc.outputs()))
    if output.DataType == enums.DML_TENSOR_DATA_TYPE_INT32 and choice.type == enums.DML_TENSOR_DATA_TYPE_FLOAT16:
        raise Skip("sums of integers exceed FLOAT16")
    addend = output.Sizes if choice.addend == "whole" else (*(1,) * (output.rank - 1), output.Sizes[-1])
    given = {name: described for name, _, described in tensors(desc.inputs())}
    factor = tensor(choice.type, (1,) * (output.rank - 2) + output.Sizes[-2:-1] + (1,) if output.rank > 1 else (1,))
    added = tensor(choice.type, addend)

    def build(builder: Any, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        result = _node(builder, desc, inputs)[name]
        if output.DataType != choice.type:
            result = op.cast(result, choice.type)
        result = op.add(op.multiply(result, inputs[_F]), inputs[_G])
        return {"OutputTensor": op.relu(result) if choice.relu else result}

    return _Epilogue({**given, _F: factor, _G: added}, {"OutputTensor": tensor(choice.type, output.Sizes)}, build,
                     (case, choice.relu))  # fmt: skip


def _epilogue_inputs(desc: Any, values: Values) -> Inputs:
    case, _ = desc.about
    own = {_F: (0.5, 2.0), _G: (-1.0, 1.0)}
    more = {name: values.between(described, *own[name]) for name, described in desc.inputs() if name in own}
    return {**case.subject.make_inputs(case.desc, values), **more}


def _epilogue_reference(desc: Any, inputs: Inputs) -> Outputs:
    """Apply the expression to the operator's own expectation; each of its steps may be rounded to the output's type."""
    case, has_relu = desc.about
    own = {name: array for name, array in inputs.items() if name not in (_F, _G)}
    (inner,) = case.subject.reference(case.desc, own).values()
    assert isinstance(inner, Expected)
    kind = dict(desc.outputs())["OutputTensor"].dtype
    values = np.asarray(inner.values, np.float64)
    factor, addend = (inputs[name].astype(np.float64) for name in (_F, _G))
    scaled = values * factor
    result = scaled + addend
    error = np.abs(factor) * (max(inner.ulp, 1.0) * spacing(values, kind) + inner.absolute) + spacing(scaled, kind)
    why = f"{inner.why}, then a product and a sum"
    return {"OutputTensor": Expected(np.maximum(result, 0) if has_relu else result, 2.0, error, why)}


subject(
    _Epilogue,
    parameters={"type": _FLOATS, "of": _OF, "addend": {"row": "row", "whole": "whole"}, "relu": flags()},
    describe=_with_epilogue,
    reference=_epilogue_reference,
    inputs=_epilogue_inputs,
    layouts=("packed", "owned"),
    values=("ordinary",),
)


def _node(builder: Any, desc: Any, inputs: Mapping[str, Any]) -> Any:
    """Add an operator with these inputs to a graph; return its outputs by field."""
    fields = {info.name: getattr(desc, info.name) for info in desc.fields_info if info.kind != "output"}
    return builder.node(
        type(desc),
        {name: described for name, described in desc.outputs() if described is not None},
        **{name: inputs.get(name, value) for name, value in fields.items() if value is not None},
    )


def _inside(choice: Choice) -> _Operator:
    """Describe an operator whose tensors are the last slices of larger tensors along the first dimension.

    before: number of slices of the same size in front of each. With 16 the tensors stay aligned for vector loads.
    """
    types = subjects()[choice.of].parameters.get("type", {})
    if choice.label("type") not in types:
        raise Skip("the operator does not take this data type")
    case = Case.parse(f"{choice.of}:type={choice.label('type')}")
    desc = case.desc
    wholes = {name: _times(choice.before + 1, part) for name, part in desc.inputs() if isinstance(part, Tensor)}
    outputs = {name: part for name, part in desc.outputs() if isinstance(part, Tensor)}
    if len(wholes) + len(outputs) != sum(part is not None for _, part in (*desc.inputs(), *desc.outputs())):
        raise Skip("arrays of tensors are cases of SPLIT and JOIN")
    if any(part.element_bits == 4 or 0 in part.strides for part in (*wholes.values(), *outputs.values())):
        raise Skip("4-bit and broadcast tensors cannot be slices of larger ones")
    before = {f"Before{name}": _times(choice.before, part) for name, part in outputs.items()}

    def build(builder: Any, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        parts = {}
        for name, part in wholes.items():
            size = part.Sizes[0] // (choice.before + 1)
            parts[name] = op.split(inputs[name], 0, [choice.before * size, size])[1]
        results = _node(builder, desc, parts)
        return {name: op.join([inputs[f"Before{name}"], results[name]], 0) for name in outputs}

    results = {name: _times(choice.before + 1, part) for name, part in outputs.items()}
    return _Operator({**wholes, **before}, results, build, (case, choice.before))


def _times(count: int, part: Tensor) -> Tensor:
    return tensor(part.DataType, (count * part.Sizes[0], *part.Sizes[1:]))


def _inside_inputs(desc: Any, values: Values) -> Inputs:
    """Put the operator's own inputs into the last slices, and other values into the slices before them."""
    case, count = desc.about
    own = case.subject.make_inputs(case.desc, values)
    found = {}
    for name, part in desc.inputs():
        if name in own:
            found[name] = np.concatenate([*[own[name][::-1]] * count, own[name]])
        else:
            found[name] = values.fill(part)
    return found


def _inside_reference(desc: Any, inputs: Inputs) -> Outputs:
    case, _ = desc.about
    own = {name: inputs[name][-part.Sizes[0] :] for name, part in case.desc.inputs() if part is not None}
    found: dict[str, Any] = {}
    for name, expected in case.subject.reference(case.desc, own).items():
        assert isinstance(expected, Expected)
        before = inputs[f"Before{name}"]
        whole = np.concatenate([before.astype(expected.values.dtype), expected.values])
        zeros = np.zeros(before.shape)
        absolute = np.concatenate([zeros, np.broadcast_to(expected.absolute, expected.values.shape)])
        undefined = expected.undefined
        if undefined is not None:
            undefined = np.concatenate([zeros.astype(bool), np.broadcast_to(undefined, expected.values.shape)])
        found[name] = Expected(whole, expected.ulp, absolute, expected.why, undefined)
    return found


subject(
    _Operator,
    parameters={
        "type": data_types("FLOAT32", "FLOAT16", "INT32", "UINT8"),
        "of": {short_name(kind): short_name(kind) for kind in operators()},
        "before": {"1": 1, "16": 16},
    },
    describe=_inside,
    reference=_inside_reference,
    inputs=_inside_inputs,
    layouts=("packed",),
    values=("ordinary",),
)


def _in_parts(choice: Choice) -> _Parts:
    rank = len(choice.sizes)
    axis = {"first": 0, "last": rank - 1}[choice.axis]
    if choice.axis == "first" and rank == 1:
        raise Skip("with one dimension, the first is the last")
    x = tensor(choice.type, choice.sizes)
    joined = tensor(choice.type, [3 * size if index == axis else size for index, size in enumerate(choice.sizes)])

    def build(builder: Any, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        a, b = inputs["ATensor"], inputs["BTensor"]
        whole = op.join([op.add(a, b), op.maximum(a, b), op.minimum(a, b)], axis)
        first, *_, last = op.split(inputs["WholeTensor"], axis, [choice.sizes[axis]] * 3)
        return {"JoinedTensor": whole, "OutputTensor": op.add(first, last)}

    return _Parts(
        {"ATensor": x, "BTensor": x, "WholeTensor": joined}, {"JoinedTensor": joined, "OutputTensor": x}, build, axis
    )


def _small(desc: Any, values: Values) -> Inputs:
    """Return integral numbers whose sums every data type represents."""
    return {name: values.integers(described, 0, 60) for name, described in desc.inputs()}


def _parts_reference(desc: Any, inputs: Inputs) -> Outputs:
    a, b, whole = (inputs[name] for name in ("ATensor", "BTensor", "WholeTensor"))
    first, _, last = np.split(whole, 3, desc.about)
    joined = np.concatenate([a + b, np.maximum(a, b), np.minimum(a, b)], desc.about)
    return {"JoinedTensor": exact(joined), "OutputTensor": exact(first + last)}


subject(
    _Parts,
    parameters={
        "type": data_types("FLOAT32", "FLOAT16", "UINT8", "UINT16"),
        "sizes": sizes("2x3x4", "5", "3x64", "4x7", "2x128x6"),
        "axis": {"last": "last", "first": "first"},
    },
    describe=_in_parts,
    reference=_parts_reference,
    inputs=_small,
    layouts=("packed",),
    values=("ordinary",),
)


def _stored(choice: Choice) -> _StoredWeights:
    n, k = choice.sizes
    if k % choice.block:
        raise Skip("blocks do not divide the rows of weights")
    a, result = tensor(choice.type, (choice.rows, k)), tensor(choice.type, (choice.rows, n))
    numbers, scales = tensor(choice.numbers, (n, k)), tensor(choice.type, (n, k // choice.block))
    given = {"ATensor": a, "NumbersTensor": numbers, "ScaleTensor": scales}
    if choice.zero_points:
        given["ZeroPointTensor"] = tensor(choice.numbers, (n, k // choice.block))

    def build(builder: Any, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        parameters = [inputs[name] for name in ("ScaleTensor", "ZeroPointTensor") if name in inputs]
        weights = builder.one(
            quantized.DML_DEQUANTIZE_OPERATOR_DESC,
            (n, k),
            choice.type,
            InputTensor=inputs["NumbersTensor"],
            QuantizationType=enums.DML_QUANTIZATION_TYPE(len(parameters)),
            QuantizationTensors=parameters,
        )
        return {"OutputTensor": op.gemm(inputs["ATensor"], weights, transpose_b=True)}

    stored = {name: described if name == "ATensor" else owned(described) for name, described in given.items()}
    return _StoredWeights(stored, {"OutputTensor": result}, build, choice.block)


def _stored_inputs(desc: Any, values: Values) -> Inputs:
    found = {}
    for name, described in desc.inputs():
        if name == "ScaleTensor":
            found[name] = values.between(described, 0.5, 1.5)
        elif name == "ATensor":
            found[name] = values.between(described, -1, 1)
        else:
            found[name] = values.fill(described)
    return found


def _stored_reference(desc: Any, inputs: Inputs) -> Outputs:
    a = inputs["ATensor"].astype(np.float64)
    scales = np.repeat(inputs["ScaleTensor"].astype(np.float64), desc.about, 1)
    numbers = inputs["NumbersTensor"].astype(np.float64)
    zeros = np.zeros_like(numbers)
    if "ZeroPointTensor" in inputs:
        zeros = np.repeat(inputs["ZeroPointTensor"].astype(np.float64), desc.about, 1)
    kind = dict(desc.outputs())["OutputTensor"].dtype
    values = a @ ((numbers - zeros) * scales).T
    # Numbers and zero points are multiplied separately, around the middle of the range; FLOAT16 weights round once.
    middle = 128.0 if dict(desc.inputs())["NumbersTensor"].element_bits == 8 else 8.0
    magnitudes = np.abs(a) @ ((np.abs(numbers) + np.abs(zeros) + middle) * scales).T
    allowed = sum_of_products(3 * a.shape[1], magnitudes, kind, values)
    if kind == np.float16:
        allowed = allowed + 2.0**-11 * (np.abs(a) @ np.abs((numbers - zeros) * scales).T)
    return {"OutputTensor": Expected(values, 0.0, allowed, "a sum of products of stored numbers, in any order")}


subject(
    _StoredWeights,
    parameters={
        "type": _FLOATS,
        "numbers": data_types("UINT4", "INT4", "UINT8", "INT8"),
        "sizes": sizes("40x64", "64x256", "7x32", "130x96", "600x1024"),
        "rows": {"1": 1, "2": 2, "5": 5, "33": 33},
        "block": {"32": 32, "16": 16},
        "zero_points": flags(),
    },
    describe=_stored,
    reference=_stored_reference,
    inputs=_stored_inputs,
    layouts=("packed",),
    values=("ordinary",),
)
