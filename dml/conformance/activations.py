"""The activations with their tested attributes, alone and fused into other operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml import descriptors
from dml.conformance.references.activations import ACTIVATIONS
from dml.descriptors.base import OperatorDesc
from dml.validator.base import FUSABLE_ACTIVATIONS

#: Tested attributes; the pages' defaults first.
ATTRIBUTES: Mapping[str, tuple[dict[str, float], ...]] = {
    "ELU": ({"Alpha": 1.0}, {"Alpha": 0.3}),
    "HARD_SIGMOID": ({"Alpha": 0.2, "Beta": 0.5}, {"Alpha": 1.0, "Beta": 0.0}),
    "LEAKY_RELU": ({"Alpha": 0.01}, {"Alpha": -2.0}),
    "LINEAR": ({"Alpha": 2.0, "Beta": 0.5}, {"Alpha": 0.77, "Beta": -1.3}),
    "PARAMETRIC_SOFTPLUS": ({"Alpha": 1.5, "Beta": 1.0}, {"Alpha": 0.7, "Beta": -2.3}),
    "SCALED_ELU": ({"Alpha": 1.6732, "Gamma": 1.0507}, {"Alpha": 0.5, "Gamma": 2.0}),
    "SCALED_TANH": ({"Alpha": 1.0, "Beta": 0.5}, {"Alpha": 1.7, "Beta": 0.66}),
    "SOFTPLUS": ({"Steepness": 1.0}, {"Steepness": 3.3}, {"Steepness": 0.25}),
    "THRESHOLDED_RELU": ({"Alpha": 1.0}, {"Alpha": -0.5}),
    "SHRINK": ({"Bias": 0.0, "Threshold": 0.5}, {"Bias": 0.75, "Threshold": 1.5}, {"Bias": 2.0, "Threshold": 2.0}),
    "CELU": ({"Alpha": 1.0}, {"Alpha": 0.3}, {"Alpha": 7.5}),
    "SWISH": ({"SigmoidInputScale": 1.0}, {"SigmoidInputScale": 1.702}, {"SigmoidInputScale": -3.3}),
    "HARD_SWISH": ({"Alpha": 1 / 6, "Beta": 0.5}, {"Alpha": 0.2, "Beta": 0.5}),
}


def activation_class(name: str) -> Any:
    """Return the description class of an activation, such as RELU or SOFTMAX1."""
    return getattr(descriptors, f"DML_ACTIVATION_{name}_OPERATOR_DESC")


def fused(*names: str) -> dict[str, OperatorDesc | None]:
    """Return fused activations by label, beginning with none: the named ones, by default all that operators can
    fuse."""
    found: dict[str, OperatorDesc | None] = {"none": None}
    for name in names or [name for name in ACTIVATIONS if activation_class(name).OPERATOR_TYPE in FUSABLE_ACTIVATIONS]:
        found[name] = activation_class(name)(**ATTRIBUTES.get(name, ({},))[-1])
    return found
