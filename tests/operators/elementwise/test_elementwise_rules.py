"""Refusals of the element-wise operators: each description breaks one rule, and the message names it."""

from __future__ import annotations

import pytest

import dml
from harness import tensor

F32, F16, I32, I8, U8 = (tensor(kind, (2, 3)) for kind in ("FLOAT32", "FLOAT16", "INT32", "INT8", "UINT8"))
ONE_F, ONE_I = tensor("FLOAT32", (1, 1)), tensor("INT8", (1, 1))


def quantize(x=F32, scale=F32, zero_point=U8):
    return dml.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(x, scale, zero_point, U8)


def dequantize(scale=F32, zero_point=I8, out=F32):
    return dml.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC(I8, scale, zero_point, out)


def linear_add(**changes):
    names = {"ATensor": I8, "BTensor": I8, "OutputTensor": I8}
    for name in ("A", "B", "Output"):
        names |= {f"{name}ScaleTensor": ONE_F, f"{name}ZeroPointTensor": ONE_I}
    return dml.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(**(names | changes))


def clip1(kind, out):
    bound = dml.DML_SCALAR_UNION(Int32=1)
    return dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(
        InputTensor=out, OutputTensor=out, MinMaxDataType=kind, Min=bound, Max=bound
    )


def clip_grad1(kind, out):
    bound = dml.DML_SCALAR_UNION(Int32=1)
    return dml.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(
        InputTensor=out, InputGradientTensor=out, OutputGradientTensor=out, MinMaxDataType=kind, Min=bound, Max=bound
    )


def binary(name, a=F32, b=F32, out=F32):
    return getattr(dml, f"DML_ELEMENT_WISE_{name}_OPERATOR_DESC")(a, b, out)


LEVEL = dml.DML_FEATURE_LEVEL_6_4
SMALL = tensor("FLOAT32", (1, 3))

ACCEPTED = [
    quantize(),
    quantize(zero_point=None),
    quantize(x=I32),
    quantize(x=F16, scale=F16),
    dequantize(),
    dequantize(zero_point=None),
    dequantize(scale=F16, out=F16),
    linear_add(),
    linear_add(AZeroPointTensor=None, BZeroPointTensor=None, OutputZeroPointTensor=None),
    clip1(dml.DML_TENSOR_DATA_TYPE_INT32, I32),
    clip_grad1(dml.DML_TENSOR_DATA_TYPE_INT32, I32),
    binary("POW", I32, F32, I32),
    binary("LOGICAL_EQUALS", F16, F16, U8),
]

REFUSED = [
    (quantize(x=I32, scale=F16), r"QUANTIZE_LINEAR\.ScaleTensor: must be FLOAT32 where InputTensor is INT32"),
    (quantize(x=F16), r"QUANTIZE_LINEAR\.ScaleTensor: must have the data type of InputTensor"),
    (quantize(zero_point=I8), r"QUANTIZE_LINEAR\.\w+: must have the data type of"),
    (quantize(scale=SMALL), r"QUANTIZE_LINEAR\.ScaleTensor: must have the sizes of"),
    (dequantize(zero_point=U8), r"DEQUANTIZE_LINEAR\.ZeroPointTensor: must have the data type of InputTensor"),
    (dequantize(scale=F16), r"DEQUANTIZE_LINEAR\.\w+: must have the data type of"),
    (linear_add(BTensor=tensor("INT8", (1, 3))), r"QUANTIZED_LINEAR_ADD\.BTensor: must have the sizes of ATensor"),
    (linear_add(OutputTensor=tensor("INT8", (1, 3))), r"QUANTIZED_LINEAR_ADD\.OutputTensor: must have the sizes of"),
    (linear_add(AScaleTensor=F32), r"QUANTIZED_LINEAR_ADD\.AScaleTensor: must have sizes \(1, 1\) .*one scale"),
    (linear_add(BScaleTensor=F32), r"QUANTIZED_LINEAR_ADD\.BScaleTensor: must have sizes \(1, 1\)"),
    (linear_add(OutputScaleTensor=F32), r"QUANTIZED_LINEAR_ADD\.OutputScaleTensor: must have sizes \(1, 1\)"),
    (linear_add(AZeroPointTensor=I8), r"QUANTIZED_LINEAR_ADD\.AZeroPointTensor: must have sizes .*one zero point"),
    (linear_add(BZeroPointTensor=I8), r"QUANTIZED_LINEAR_ADD\.BZeroPointTensor: must have sizes"),
    (linear_add(OutputZeroPointTensor=I8), r"QUANTIZED_LINEAR_ADD\.OutputZeroPointTensor: must have sizes"),
    (linear_add(AScaleTensor=tensor("FLOAT32", (1,))), r"QUANTIZED_LINEAR_ADD\.\w+: must have the dimension count of"),
    (clip1(dml.DML_TENSOR_DATA_TYPE_FLOAT32, I32), r"CLIP1\.MinMaxDataType: must be the data type of OutputTensor"),
    (
        clip_grad1(dml.DML_TENSOR_DATA_TYPE_FLOAT32, I32),
        r"CLIP_GRAD1\.MinMaxDataType: must be the data type of OutputGradientTensor",
    ),
    (binary("ADD", b=F16), r"ELEMENT_WISE_ADD\.BTensor: must have the data type of ATensor"),
    (binary("DIVIDE", b=SMALL), r"ELEMENT_WISE_DIVIDE\.BTensor: must have the sizes of ATensor"),
    (binary("LOGICAL_EQUALS", out=F32), r"LOGICAL_EQUALS\.OutputTensor\.DataType: must be one of"),
    (binary("BIT_SHIFT_LEFT", I32, I32, I32), r"BIT_SHIFT_LEFT\.ATensor\.DataType: must be one of"),
    (binary("MEAN", I8, I8, I8), r"ELEMENT_WISE_MEAN\.ATensor\.DataType: must be one of"),
    (binary("POW", I32, F32, F32), r"ELEMENT_WISE_POW\.OutputTensor: must have the data type of InputTensor"),
    (
        dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(F32, F32, F32, dml.DML_ACTIVATION_SWISH_OPERATOR_DESC(F32, F32, 1.0)),
        r"ELEMENT_WISE_ADD1\.FusedActivation: must be an activation that can be fused",
    ),
    (
        dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(F32, F32, F32, dml.DML_ACTIVATION_RELU_OPERATOR_DESC(F32, F32)),
        r"FusedActivation\.InputTensor: must be None in a fused activation",
    ),
]


@pytest.mark.parametrize("desc", ACCEPTED, ids=lambda desc: desc.OPERATOR_TYPE.name)
def test_accepted(desc):
    dml.validate(desc, LEVEL)


@pytest.mark.parametrize(("desc", "message"), REFUSED, ids=lambda value: value if isinstance(value, str) else None)
def test_refused(desc, message):
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(desc, LEVEL)


def test_exponents_of_another_type_came_with_3_0():
    a, b = tensor("FLOAT32", (1, 1, 2, 3)), tensor("FLOAT16", (1, 1, 2, 3))
    dml.validate(binary("POW", a, b, a), dml.DML_FEATURE_LEVEL_3_0)
    dml.validate(binary("POW", a, a, a), dml.DML_FEATURE_LEVEL_2_1)
    with pytest.raises(dml.DMLError, match=r"POW\.ExponentTensor: must have the data type of InputTensor"):
        dml.validate(binary("POW", a, b, a), dml.DML_FEATURE_LEVEL_2_1)
