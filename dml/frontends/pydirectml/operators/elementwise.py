"""Element-wise activations and arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from dml import descriptors as d
from dml.descriptors import activation as act
from dml.frontends.pydirectml.expressions import Expression, binary, unary

from .common import FusedActivation, fused


def activation_relu(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_RELU_OPERATOR_DESC, input)


def activation_sigmoid(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC, input)


def activation_identity(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_IDENTITY_OPERATOR_DESC, input)


def activation_tanh(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_TANH_OPERATOR_DESC, input)


def activation_soft_max(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC, input)


def activation_linear(input: Expression, alpha: float, beta: float) -> Expression:
    return unary(act.DML_ACTIVATION_LINEAR_OPERATOR_DESC, input, Alpha=alpha, Beta=beta)


def add(a: Expression, b: Expression, fused_activation: FusedActivation | None = None) -> Expression:
    activation = fused(fused_activation)
    if activation is None:
        return binary(d.DML_ELEMENT_WISE_ADD_OPERATOR_DESC, a, b)
    return binary(d.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, a, b, FusedActivation=activation)


def subtract(a: Expression, b: Expression) -> Expression:
    return binary(d.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, a, b)


def multiply(a: Expression, b: Expression) -> Expression:
    return binary(d.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC, a, b)


def divide(a: Expression, b: Expression) -> Expression:
    return binary(d.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC, a, b)


def value_scale_2d(input: Expression, scale: float, bias: Sequence[float]) -> Expression:
    return unary(d.DML_VALUE_SCALE_2D_OPERATOR_DESC, input, Scale=scale, Bias=tuple(bias))
