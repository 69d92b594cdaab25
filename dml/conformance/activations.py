"""The activations that other operators may apply to their results, with parameters, by label."""

from __future__ import annotations

from typing import Any

from dml import descriptors as d
from dml.descriptors.base import OperatorDesc


def _of(operator: Any, **attributes: Any) -> OperatorDesc:
    made: OperatorDesc = operator(InputTensor=None, OutputTensor=None, **attributes)
    return made


#: Those that every operator with a FusedActivation, and every recurrent network, takes.
ACTIVATIONS: dict[str, OperatorDesc] = {
    "LINEAR": _of(d.DML_ACTIVATION_LINEAR_OPERATOR_DESC, Alpha=-0.5, Beta=0.25),
    "SIGMOID": _of(d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC),
    "HARD_SIGMOID": _of(d.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, Alpha=0.3, Beta=0.4),
    "TANH": _of(d.DML_ACTIVATION_TANH_OPERATOR_DESC),
    "SCALED_TANH": _of(d.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, Alpha=0.7, Beta=1.5),
    "RELU": _of(d.DML_ACTIVATION_RELU_OPERATOR_DESC),
    "LEAKY_RELU": _of(d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, Alpha=0.2),
    "THRESHOLDED_RELU": _of(d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, Alpha=0.1),
    "ELU": _of(d.DML_ACTIVATION_ELU_OPERATOR_DESC, Alpha=0.8),
    "CELU": _of(d.DML_ACTIVATION_CELU_OPERATOR_DESC, Alpha=0.5),
    "SCALED_ELU": _of(d.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC, Alpha=1.6, Gamma=0.7),
    "SOFTPLUS": _of(d.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, Steepness=2.0),
    "PARAMETRIC_SOFTPLUS": _of(d.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC, Alpha=0.6, Beta=1.2),
    "SOFTSIGN": _of(d.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC),
    "IDENTITY": _of(d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC),
    "SHRINK": _of(d.DML_ACTIVATION_SHRINK_OPERATOR_DESC, Bias=0.1, Threshold=0.2),
    "GELU": _of(d.DML_ACTIVATION_GELU_OPERATOR_DESC),
}
#: What a matrix product may fuse besides: over the last dimension, over any.
SOFTMAX = _of(d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC)
SOFTMAX1 = _of(d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, Axes=(0,))


def fused(*labels: str) -> dict[str, OperatorDesc | None]:
    """A parameter: no activation, and these."""
    return {"none": None, **{label: ACTIVATIONS[label] for label in labels}}
