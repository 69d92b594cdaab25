"""Activations by the names that formats use, with their parameters and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import dml.graph.operations as op
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError
from dml.frontends.meaning import integers
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


def _of(
    operation: str, fixed: Mapping[str, float] | None = None, **parameters: float | tuple[str, float]
) -> Activation:
    """Return the activation of an operation. parameters: their defaults, each with the parameter's name in ONNX if that
    differs."""
    descriptor = getattr(act, f"DML_ACTIVATION_{operation.upper()}_OPERATOR_DESC")
    named = {name: given if isinstance(given, tuple) else (name, given) for name, given in parameters.items()}
    return Activation(getattr(op, operation), descriptor, named, fixed or {})


#: Activations by ONNX's name.
ACTIVATIONS = {
    "Affine": _of("linear", alpha=1.0, beta=0.0),
    "Celu": _of("celu", alpha=1.0),
    "Elu": _of("elu", alpha=1.0),
    "HardSigmoid": _of("hard_sigmoid", alpha=0.2, beta=0.5),
    "HardSwish": _of("hard_swish", alpha=1 / 6, beta=0.5),
    "LeakyRelu": _of("leaky_relu", alpha=0.01),
    "ParametricSoftplus": _of("parametric_softplus", alpha=1.0, beta=1.0),
    "Relu": Activation(integers.relu, act.DML_ACTIVATION_RELU_OPERATOR_DESC),
    "ScaledTanh": _of("scaled_tanh", alpha=1.0, beta=1.0),
    "Selu": _of("scaled_elu", alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    "Shrink": _of("shrink", bias=0.0, threshold=("lambd", 0.5)),
    "Sigmoid": _of("sigmoid"),
    "Softplus": _of("softplus", fixed={"steepness": 1.0}),
    "Softsign": _of("softsign"),
    "Swish": _of("swish", sigmoid_input_scale=("alpha", 1.0)),
    "Tanh": _of("tanh"),
    "ThresholdedRelu": _of("thresholded_relu", alpha=1.0),
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
