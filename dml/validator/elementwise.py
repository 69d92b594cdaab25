"""Rules of the element-wise operators.

Most need none: their tensors' equal sizes and data types are in the capability table's `same`.
"""

from __future__ import annotations

from .. import descriptors as d
from ..enums import DML_FEATURE_LEVEL, DML_TENSOR_DATA_TYPE
from .base import Check, rule

_T = DML_TENSOR_DATA_TYPE


@rule(d.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC)
def add1(desc: d.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, check: Check) -> None:
    check.fused_activation()


@rule(d.DML_ELEMENT_WISE_POW_OPERATOR_DESC)
def pow_(desc: d.DML_ELEMENT_WISE_POW_OPERATOR_DESC, check: Check) -> None:
    if check.level < DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_3_0:
        check.same_data_type("InputTensor", "ExponentTensor")


@rule(d.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC, output="OutputTensor")
@rule(d.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC, output="OutputGradientTensor")
def clip1(
    desc: d.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC | d.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC,
    check: Check,
    output: str,
) -> None:
    check.that(
        getattr(desc, output).DataType == desc.MinMaxDataType, "MinMaxDataType", f"must be the data type of {output}"
    )


@rule(d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC)
def quantize_linear(desc: d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, check: Check) -> None:
    if desc.InputTensor.DataType == _T.DML_TENSOR_DATA_TYPE_INT32:
        check.that(
            desc.ScaleTensor.DataType == _T.DML_TENSOR_DATA_TYPE_FLOAT32,
            "ScaleTensor",
            "must be FLOAT32 where InputTensor is INT32",
        )
    else:
        check.same_data_type("InputTensor", "ScaleTensor")


@rule(d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC)
def quantized_linear_add(desc: d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC, check: Check) -> None:
    check.same_sizes("ATensor", "BTensor", "OutputTensor")
    single = (1,) * desc.ATensor.rank
    for name in ("A", "B", "Output"):
        check.sizes(f"{name}ScaleTensor", single, "one scale for the tensor")
        check.sizes(f"{name}ZeroPointTensor", single, "one zero point for the tensor")
