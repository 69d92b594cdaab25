"""Activations by the names that formats use, with their parameters and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import dml.graph.operations as op
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError
from dml.graph.builder import Tensor


class Activation(NamedTuple):
    """An activation as an operation of a graph, and as a descriptor to fuse into another operator.

    parameters: attribute of the operation -> the parameter's name in ONNX, and its default there. fixed: attributes
    that DirectML requires and formats lack.
    """

    function: Callable[..., Tensor]
    descriptor: type[OperatorDesc]
    parameters: Mapping[str, tuple[str, float]] = {}
    fixed: Mapping[str, float] = {}


_ALPHA, _BETA = {"alpha": ("alpha", 1.0)}, {"beta": ("beta", 1.0)}
#: Activations by ONNX's name.
ACTIVATIONS = {
    "Affine": Activation(
        op.linear, act.DML_ACTIVATION_LINEAR_OPERATOR_DESC, {"alpha": ("alpha", 1.0), "beta": ("beta", 0.0)}
    ),
    "Celu": Activation(op.celu, act.DML_ACTIVATION_CELU_OPERATOR_DESC, _ALPHA),
    "Elu": Activation(op.elu, act.DML_ACTIVATION_ELU_OPERATOR_DESC, _ALPHA),
    "HardSigmoid": Activation(
        op.hard_sigmoid, act.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, {"alpha": ("alpha", 0.2), "beta": ("beta", 0.5)}
    ),
    "HardSwish": Activation(
        op.hard_swish, act.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC, {"alpha": ("alpha", 1 / 6), "beta": ("beta", 0.5)}
    ),
    "LeakyRelu": Activation(op.leaky_relu, act.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, {"alpha": ("alpha", 0.01)}),
    "ParametricSoftplus": Activation(
        op.parametric_softplus, act.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC, _ALPHA | _BETA
    ),
    "Relu": Activation(op.relu, act.DML_ACTIVATION_RELU_OPERATOR_DESC),
    "ScaledTanh": Activation(op.scaled_tanh, act.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, _ALPHA | _BETA),
    "Selu": Activation(
        op.scaled_elu,
        act.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC,
        {"alpha": ("alpha", 1.67326319217681884765625), "gamma": ("gamma", 1.05070102214813232421875)},
    ),
    "Shrink": Activation(
        op.shrink, act.DML_ACTIVATION_SHRINK_OPERATOR_DESC, {"bias": ("bias", 0.0), "threshold": ("lambd", 0.5)}
    ),
    "Sigmoid": Activation(op.sigmoid, act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC),
    "Softplus": Activation(op.softplus, act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, fixed={"steepness": 1.0}),
    "Softsign": Activation(op.softsign, act.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC),
    "Swish": Activation(op.swish, act.DML_ACTIVATION_SWISH_OPERATOR_DESC, {"sigmoid_input_scale": ("alpha", 1.0)}),
    "Tanh": Activation(op.tanh, act.DML_ACTIVATION_TANH_OPERATOR_DESC),
    "ThresholdedRelu": Activation(op.thresholded_relu, act.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, _ALPHA),
}
#: Activations of recurrent networks, by ONNX's name in lower case.
_RECURRENT = {
    name.lower(): ACTIVATIONS[name]
    for name in (
        "Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus", "Softsign", "Tanh",
        "ThresholdedRelu",
    )
}  # fmt: skip


def recurrent_activations(
    names: Sequence[str], alphas: Sequence[float] = (), betas: Sequence[float] = ()
) -> tuple[OperatorDesc, ...]:
    """Return activations to fuse into a recurrent network, by names in any case.

    alphas, betas: values for the activations that have such a parameter, in order; the others get the default. Raises
    DMLError for an unknown name.
    """
    rest = {"alpha": list(alphas), "beta": list(betas)}
    activations = []
    for name in names:
        found = _RECURRENT.get(name.lower())
        if found is None:
            raise DMLError(f"activation {name!r} is not one of {', '.join(sorted(_RECURRENT))}")
        attributes = {
            attribute: rest[attribute].pop(0) if rest.get(attribute) else default
            for attribute, (_, default) in found.parameters.items()
        }
        activations.append(op.fused(found.descriptor, **attributes, **found.fixed))
    return tuple(activations)
