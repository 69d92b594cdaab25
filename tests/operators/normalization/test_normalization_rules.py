"""The rules of the normalizations, each broken alone."""

from __future__ import annotations

from typing import Any

import pytest

import dml
from harness import refuse, tensor

SIZES = (2, 3, 4, 5)
X, C = tensor("FLOAT32", SIZES), tensor("FLOAT32", (1, 3, 1, 1))
RELU = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(InputTensor=None, OutputTensor=None)
SOFTMAX = dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(InputTensor=None, OutputTensor=None)
LOCAL = {"CrossChannel": True, "LocalSize": 5, "Alpha": 1e-4, "Beta": 0.75, "Bias": 1.0}
AFFINE = {"InputTensor": X, "ScaleTensor": C, "BiasTensor": C, "OutputTensor": X, "Epsilon": 1e-5,
          "FusedActivation": RELU}  # fmt: skip
GRAD = {"InputTensor": X, "InputGradientTensor": X, "MeanTensor": C, "VarianceTensor": C, "ScaleTensor": C,
        "OutputGradientTensor": X, "OutputScaleGradientTensor": C, "OutputBiasGradientTensor": C,
        "Epsilon": 1e-5}  # fmt: skip
VALID: dict[Any, dict[str, Any]] = {
    dml.DML_BATCH_NORMALIZATION_OPERATOR_DESC: {**AFFINE, "MeanTensor": C, "VarianceTensor": C, "Spatial": True},
    dml.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC: {
        **AFFINE, "FusedAddTensor": X, "OutputMeanTensor": C, "OutputVarianceTensor": C},
    dml.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC: GRAD,
    dml.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC: GRAD,
    dml.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC: {**AFFINE, "CrossChannel": False, "NormalizeVariance": True},
    dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC: {**AFFINE, "Axes": (1, 3), "NormalizeVariance": True},
    dml.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC: {
        **AFFINE, "Axes": (1, 3), "UseMean": True, "UseVariance": True},
    dml.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC: {"InputTensor": X, "OutputTensor": X, **LOCAL},
    dml.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC: {
        "InputTensor": X, "InputGradientTensor": X, "OutputGradientTensor": X, **LOCAL},
    dml.DML_LP_NORMALIZATION_OPERATOR_DESC: {
        "InputTensor": X, "OutputTensor": X, "Axis": 1, "Epsilon": 1e-5, "P": 2},
}  # fmt: skip
LATEST = dml.DML_FEATURE_LEVEL_6_4


def refused(operator: Any, message: str, level: Any = LATEST, **changes: Any) -> None:
    """Assert that the description with these fields changed is refused with this message, and valid without them."""
    dml.validate(operator(**VALID[operator]), level)
    refuse(operator(**{**VALID[operator], **changes}), message, level=level)


@pytest.mark.parametrize("operator", [operator for operator, fields in VALID.items() if "FusedActivation" in fields])
def test_fused_activation(operator: Any) -> None:
    refused(operator, "FusedActivation: must be an activation that can be fused here", FusedActivation=SOFTMAX)


@pytest.mark.parametrize("name", ["MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor"])
def test_batch_parameters_broadcast(name: str) -> None:
    refused(dml.DML_BATCH_NORMALIZATION_OPERATOR_DESC, f"{name}: must broadcast to sizes (2, 3, 4, 5)",
            **{name: tensor("FLOAT32", (1, 2, 1, 1))})  # fmt: skip


def test_batch_spatial_below_4_0() -> None:
    """Without Spatial, the mean and the variance have the input's height and width; from 4_0 on the flag is ignored."""
    operator, level = dml.DML_BATCH_NORMALIZATION_OPERATOR_DESC, dml.DML_FEATURE_LEVEL_3_1
    refused(operator, "MeanTensor: must have size 4 in dimension 2 (Spatial is false, below feature level 4_0)", level,
            Spatial=False)  # fmt: skip
    rows = tensor("FLOAT32", (1, 3, 4, 1))
    refused(operator, "MeanTensor: must have size 5 in dimension 3", level, Spatial=False, MeanTensor=rows)
    full = tensor("FLOAT32", (1, 3, 4, 5))
    refused(operator, "VarianceTensor: must have size 4 in dimension 2", level, Spatial=False, MeanTensor=full)
    changes = {"Spatial": False, "MeanTensor": full, "VarianceTensor": full}
    dml.validate(operator(**{**VALID[operator], **changes}), level)
    dml.validate(operator(**{**VALID[operator], "Spatial": False}), dml.DML_FEATURE_LEVEL_4_0)


def test_batch_training_broadcasts() -> None:
    wrong = tensor("FLOAT32", (1, 2, 1, 1))
    names = ("ScaleTensor", "BiasTensor", "OutputMeanTensor", "OutputVarianceTensor")
    refused(dml.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC, "ScaleTensor: must broadcast to sizes (2, 3, 4, 5)",
            **dict.fromkeys(names, wrong))  # fmt: skip


@pytest.mark.parametrize(
    "operator",
    [dml.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC, dml.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC],
)
def test_batch_gradients_broadcast(operator: Any) -> None:
    wrong = tensor("FLOAT32", (1, 2, 1, 1))
    names = ("MeanTensor", "VarianceTensor", "ScaleTensor", "OutputScaleGradientTensor", "OutputBiasGradientTensor")
    refused(operator, "MeanTensor: must broadcast to sizes (2, 3, 4, 5)", **dict.fromkeys(names, wrong))


MEAN_VARIANCE = [
    dml.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC,
    dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
    dml.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC,
]


@pytest.mark.parametrize("operator", MEAN_VARIANCE)
def test_mean_variance_sizes(operator: Any) -> None:
    refused(operator, "OutputTensor: must have the sizes of InputTensor", OutputTensor=tensor("FLOAT32", (2, 3, 5, 4)))
    for name in ("ScaleTensor", "BiasTensor"):
        refused(operator, f"{name}: must broadcast to sizes (2, 3, 4, 5)", **{name: tensor("FLOAT32", (1, 3, 2, 1))})


@pytest.mark.parametrize("operator", MEAN_VARIANCE[:2])
def test_mean_variance_below_5_2(operator: Any) -> None:
    """Scale and bias must come together; from 5_2 on one may be given alone."""
    level = dml.DML_FEATURE_LEVEL_5_1
    for absent, alone in (("BiasTensor", "ScaleTensor"), ("ScaleTensor", "BiasTensor")):
        message = f"{alone}: ScaleTensor and BiasTensor must both be given or neither, below feature level 5_2"
        refused(operator, message, level, **{absent: None})
        dml.validate(operator(**{**VALID[operator], absent: None}), dml.DML_FEATURE_LEVEL_5_2)
    dml.validate(operator(**{**VALID[operator], "ScaleTensor": None, "BiasTensor": None}), level)


@pytest.mark.parametrize("operator", MEAN_VARIANCE[1:])
def test_mean_variance_axes(operator: Any) -> None:
    refused(operator, "Axes: must be dimensions of InputTensor, from 0 to 3", Axes=(1, 4))
    refused(operator, "Axes: must be different dimensions", Axes=(1, 3, 1))


def test_mean_variance1_channels_below_4_0() -> None:
    operator, one = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, tensor("FLOAT32", (1, 1, 1, 1))
    for name in ("ScaleTensor", "BiasTensor"):
        refused(operator, f"{name}: must have size 3 in dimension 1 (ChannelCount, below feature level 4_0)",
                dml.DML_FEATURE_LEVEL_3_1, **{name: one})  # fmt: skip
        dml.validate(operator(**{**VALID[operator], name: one}), dml.DML_FEATURE_LEVEL_4_0)


@pytest.mark.parametrize(
    "operator",
    [dml.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC, dml.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC],
)
def test_local_response(operator: Any) -> None:
    refused(operator, "LocalSize: must be at least 1", LocalSize=0)


def test_lp() -> None:
    operator = dml.DML_LP_NORMALIZATION_OPERATOR_DESC
    refused(operator, "Axis: must be a dimension of InputTensor, from 0 to 3", Axis=4)
    refused(operator, "P: must be from 1 to 2", P=3)
    refused(operator, "P: must be from 1 to 2", P=0)
