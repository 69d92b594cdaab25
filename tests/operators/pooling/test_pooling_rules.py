"""The rules of the pooling operators, each broken alone."""

from __future__ import annotations

from typing import Any

import pytest

import dml
from harness import refuse, tensor

WINDOW = {"Strides": (2, 1), "WindowSize": (3, 2), "StartPadding": (1, 0), "EndPadding": (1, 1)}
X = tensor("FLOAT32", (2, 3, 8, 6))
Y = tensor("FLOAT32", (2, 3, 4, 6))
DILATED = tensor("FLOAT32", (2, 3, 3, 6))
D = {**WINDOW, "Dilations": (2, 1)}
ROI = {
    "InputTensor": X,
    "ROITensor": tensor("FLOAT32", (5, 4)),
    "BatchIndicesTensor": tensor("UINT32", (5,)),
    "ReductionFunction": dml.DML_REDUCE_FUNCTION_AVERAGE,
    "InterpolationMode": dml.DML_INTERPOLATION_MODE_LINEAR,
    "SpatialScaleX": 1.0,
    "SpatialScaleY": 1.0,
    "MinimumSamplesPerOutput": 1,
    "MaximumSamplesPerOutput": 4,
}
OFFSETS = {"InputPixelOffset": 0.5, "OutputPixelOffset": -0.5, "AlignRegionsToCorners": False}
SCALE = tensor("FLOAT32", (1,))
VALID: dict[Any, dict[str, Any]] = {
    dml.DML_AVERAGE_POOLING_OPERATOR_DESC: {
        "InputTensor": X, "OutputTensor": Y, **WINDOW, "IncludePadding": False},
    dml.DML_AVERAGE_POOLING1_OPERATOR_DESC: {
        "InputTensor": X, "OutputTensor": DILATED, **D, "IncludePadding": False},
    dml.DML_LP_POOLING_OPERATOR_DESC: {"InputTensor": X, "OutputTensor": Y, **WINDOW, "P": 2},
    dml.DML_LP_POOLING1_OPERATOR_DESC: {"InputTensor": X, "OutputTensor": DILATED, **D, "P": 2},
    dml.DML_MAX_POOLING_OPERATOR_DESC: {"InputTensor": X, "OutputTensor": Y, **WINDOW},
    dml.DML_MAX_POOLING1_OPERATOR_DESC: {
        "InputTensor": X, "OutputTensor": Y, "OutputIndicesTensor": tensor("UINT32", Y.Sizes), **WINDOW},
    dml.DML_MAX_POOLING2_OPERATOR_DESC: {
        "InputTensor": X, "OutputTensor": DILATED, "OutputIndicesTensor": tensor("UINT32", DILATED.Sizes), **D},
    dml.DML_MAX_UNPOOLING_OPERATOR_DESC: {
        "InputTensor": Y, "IndicesTensor": tensor("UINT32", Y.Sizes), "OutputTensor": X},
    dml.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC: {
        "InputGradientTensor": Y, "OutputGradientTensor": X, **WINDOW, "IncludePadding": True},
    dml.DML_MAX_POOLING_GRAD_OPERATOR_DESC: {
        "InputTensor": X, "InputGradientTensor": DILATED, "OutputGradientTensor": X, **D},
    dml.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC: {
        "InputTensor": tensor("UINT8", X.Sizes), "OutputTensor": tensor("INT8", DILATED.Sizes),
        "InputScaleTensor": SCALE, "InputZeroPointTensor": tensor("UINT8", (1, 3, 1, 1)), "OutputScaleTensor": SCALE,
        "OutputZeroPointTensor": tensor("INT8", (1,)), **D, "IncludePadding": True},
    dml.DML_ROI_POOLING_OPERATOR_DESC: {
        "InputTensor": X, "ROITensor": tensor("FLOAT32", (1, 1, 5, 5)),
        "OutputTensor": tensor("FLOAT32", (5, 3, 2, 4)), "SpatialScale": 1.0, "PooledSize": dml.DML_SIZE_2D(4, 2)},
    dml.DML_ROI_ALIGN_OPERATOR_DESC: {
        **ROI, "OutputTensor": tensor("FLOAT32", (5, 3, 2, 2)), "OutOfBoundsInputValue": 0.0},
    dml.DML_ROI_ALIGN1_OPERATOR_DESC: {
        **ROI, **OFFSETS, "OutputTensor": tensor("FLOAT32", (5, 3, 2, 2)), "OutOfBoundsInputValue": 0.0},
    dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC: {
        **ROI, **OFFSETS, "InputGradientTensor": tensor("FLOAT32", (5, 3, 2, 2)), "OutputGradientTensor": X,
        "OutputROIGradientTensor": tensor("FLOAT32", (5, 4))},
}  # fmt: skip
WINDOWED = [operator for operator, fields in VALID.items() if "WindowSize" in fields]
GRADS = (dml.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC, dml.DML_MAX_POOLING_GRAD_OPERATOR_DESC)


def refused(operator: Any, message: str, **changes: Any) -> None:
    """Assert that the description with these fields changed is refused with this message, and valid without them."""
    dml.validate(operator(**VALID[operator]))
    refuse(operator(**{**VALID[operator], **changes}), message)


@pytest.mark.parametrize("operator", WINDOWED)
def test_windows(operator: Any) -> None:
    name = next(iter(set(VALID[operator]) & {"Dilations"}), "Strides")
    refused(operator, "must be at least 1", Strides=(0, 1))
    refused(operator, "must be at least 1", WindowSize=(3, 0))
    refused(operator, f"{name}: must be at least 1", **{name: (1, 0)})
    arrays = {field: (*VALID[operator][field], 1) for field in (*WINDOW, "Dilations") if field in VALID[operator]}
    refused(operator, "Strides: must have 2 item(s) (one per spatial dimension)", **arrays)
    refused(operator, "WindowSize: must span at most 10 elements, the padded size of spatial dimension 0",
            WindowSize=(11, 2))  # fmt: skip
    refused(operator, "StartPadding: must leave a padded size of at most 4294967295", StartPadding=(2**32 - 1, 0))
    if operator in GRADS:
        wrong = tensor("FLOAT32", (2, 3, 5, 6))
        refused(operator, "InputGradientTensor: must have sizes (2, 3, ", InputGradientTensor=wrong)
    else:
        wrong = tensor(VALID[operator]["OutputTensor"].DataType, (2, 3, 5, 6))
        changes = {"OutputTensor": wrong}
        if "OutputIndicesTensor" in VALID[operator]:
            changes["OutputIndicesTensor"] = tensor("UINT32", wrong.Sizes)
        refused(operator, "OutputTensor: must have sizes (2, 3, ", **changes)


@pytest.mark.parametrize("operator", [dml.DML_LP_POOLING_OPERATOR_DESC, dml.DML_LP_POOLING1_OPERATOR_DESC])
def test_lp(operator: Any) -> None:
    refused(operator, "P: must be at least 1", P=0)


@pytest.mark.parametrize("operator", [dml.DML_MAX_POOLING1_OPERATOR_DESC, dml.DML_MAX_POOLING2_OPERATOR_DESC])
def test_indices(operator: Any) -> None:
    refused(operator, "OutputIndicesTensor: must have the sizes of OutputTensor",
            OutputIndicesTensor=tensor("UINT32", (2, 3, 4, 5)))  # fmt: skip


def test_unpooling() -> None:
    refused(dml.DML_MAX_UNPOOLING_OPERATOR_DESC, "IndicesTensor: must have the sizes of InputTensor",
            IndicesTensor=tensor("UINT32", (2, 3, 4, 5)))  # fmt: skip


@pytest.mark.parametrize(
    "name, dtype",
    [("InputScale", "FLOAT32"), ("InputZeroPoint", "UINT8"), ("OutputScale", "FLOAT32"), ("OutputZeroPoint", "INT8")],
)
def test_quantization_parameters(name: str, dtype: str) -> None:
    refused(dml.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
            f"{name}Tensor: must have one element, or sizes (1, 3, 1, 1) (one per channel)",
            **{f"{name}Tensor": tensor(dtype, (1, 1, 8, 1))})  # fmt: skip


def test_roi_pooling() -> None:
    operator = dml.DML_ROI_POOLING_OPERATOR_DESC
    refused(operator, "ROITensor: must have sizes (1, 1, 5, 5)", ROITensor=tensor("FLOAT32", (1, 1, 5, 4)))
    refused(operator, "OutputTensor: must have sizes (5, 3, 2, 4)", OutputTensor=tensor("FLOAT32", (5, 3, 4, 2)))
    refused(operator, "PooledSize.Width: must be at most 65535", PooledSize=dml.DML_SIZE_2D(65536, 2))


@pytest.mark.parametrize(
    "operator",
    [dml.DML_ROI_ALIGN_OPERATOR_DESC, dml.DML_ROI_ALIGN1_OPERATOR_DESC, dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC],
)
def test_roi_sampling(operator: Any) -> None:
    pooled = "InputGradientTensor" if operator is dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC else "OutputTensor"
    refused(operator, "ROITensor: must have sizes (5, 4)", ROITensor=tensor("FLOAT32", (5, 5)))
    refused(operator, "ROITensor: must have sizes (1, 5, 4)", ROITensor=tensor("FLOAT32", (2, 5, 4)))
    refused(operator, "BatchIndicesTensor: must have sizes (5,)", BatchIndicesTensor=tensor("UINT32", (4,)))
    refused(operator, f"{pooled}: must have size 5 in dimension 0", **{pooled: tensor("FLOAT32", (4, 3, 2, 2))})
    refused(operator, f"{pooled}: must have size 3 in dimension 1", **{pooled: tensor("FLOAT32", (5, 2, 2, 2))})
    refused(operator, "ReductionFunction: must be DML_REDUCE_FUNCTION_AVERAGE or DML_REDUCE_FUNCTION_MAX",
            ReductionFunction=dml.DML_REDUCE_FUNCTION_SUM)  # fmt: skip
    refused(operator, "MinimumSamplesPerOutput: must be at least 1", MinimumSamplesPerOutput=0)
    refused(operator, "MaximumSamplesPerOutput: must be at least 3", MinimumSamplesPerOutput=3,
            MaximumSamplesPerOutput=2)  # fmt: skip


def test_roi_align_grad() -> None:
    operator = dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC
    refused(operator, "at least 1 of OutputGradientTensor, OutputROIGradientTensor must be given",
            OutputGradientTensor=None, OutputROIGradientTensor=None)  # fmt: skip
    refused(operator, "InputTensor: at least 1 of InputTensor must be given", InputTensor=None)
    refused(operator, "InputTensor: at least 1 of InputTensor must be given", InputTensor=None,
            OutputROIGradientTensor=None, ReductionFunction=dml.DML_REDUCE_FUNCTION_MAX)  # fmt: skip
    refused(operator, "OutputGradientTensor: must have the sizes of InputTensor",
            OutputGradientTensor=tensor("FLOAT32", (2, 3, 8, 7)))  # fmt: skip
    refused(operator, "OutputROIGradientTensor: must have the sizes of ROITensor",
            OutputROIGradientTensor=tensor("FLOAT32", (1, 5, 4)))  # fmt: skip


@pytest.mark.parametrize("operator", WINDOWED)
def test_valid_with_three_spatial_dimensions(operator: Any) -> None:
    """Operators that accept five dimensions accept a window of three."""
    fields: dict[str, Any] = {}
    for name, value in VALID[operator].items():
        if isinstance(value, tuple):
            fields[name] = (1 if "Padding" not in name else 0, *value)
        elif isinstance(value, dml.DML_BUFFER_TENSOR_DESC) and value.rank == 4:
            fields[name] = tensor(value.DataType, (*value.Sizes[:2], 1, *value.Sizes[2:]))
        else:
            fields[name] = value
    dml.validate(operator(**fields))
