"""Activations, and what fuses them into other operators."""

from __future__ import annotations

from typing import Any

from dml.arguments import checked
from dml.descriptors import activation as act
from dml.descriptors.activation import DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC
from dml.descriptors.base import OperatorDesc
from dml.graph.builder import Operand, Tensor

from .attributes import fields_of
from .elementwise import unary_function

celu = unary_function(act.DML_ACTIVATION_CELU_OPERATOR_DESC, alpha=1.0)
elu = unary_function(act.DML_ACTIVATION_ELU_OPERATOR_DESC, alpha=1.0)
gelu = unary_function(act.DML_ACTIVATION_GELU_OPERATOR_DESC)
hard_sigmoid = unary_function(act.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, alpha=0.2, beta=0.5)
hard_swish = unary_function(act.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC)
hardmax = unary_function(act.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC)
leaky_relu = unary_function(act.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, alpha=0.01)
linear = unary_function(act.DML_ACTIVATION_LINEAR_OPERATOR_DESC)
log_softmax = unary_function(act.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC)
parametric_softplus = unary_function(act.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC)
relu = unary_function(act.DML_ACTIVATION_RELU_OPERATOR_DESC)
scaled_elu = unary_function(act.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC, alpha=1.6732632, gamma=1.050701)
scaled_tanh = unary_function(act.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, alpha=1.0, beta=0.5)
shrink = unary_function(act.DML_ACTIVATION_SHRINK_OPERATOR_DESC, bias=0.0, threshold=0.5)
sigmoid = unary_function(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC)
softmax = unary_function(act.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC)
softplus = unary_function(act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, steepness=1.0)
softsign = unary_function(act.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC)
swish = unary_function(act.DML_ACTIVATION_SWISH_OPERATOR_DESC)
tanh = unary_function(act.DML_ACTIVATION_TANH_OPERATOR_DESC)
thresholded_relu = unary_function(act.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, alpha=1.0)


@checked
def fused(cls: Any, **attributes: Any) -> OperatorDesc:
    """An activation to fuse into another operator: its tensors are None. attributes: by name, in snake_case."""
    desc = cls(**fields_of(cls, attributes))
    assert isinstance(desc, OperatorDesc)
    return desc


@checked
def parameterized_relu(x: Tensor, slope: Operand) -> Tensor:
    """x where it is positive, slope * x elsewhere; the slope broadcasts to x."""
    slopes = x.builder.like(slope, x).broadcast(x.sizes)
    return x.builder.one(DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC, x.sizes, InputTensor=x, SlopeTensor=slopes)
