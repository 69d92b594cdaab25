"""Normalizations of batches with given statistics, training with the batch's own statistics, and their gradients."""

from __future__ import annotations

from typing import Any

from dml import descriptors as d
from dml.conformance.activations import fused
from dml.conformance.filling import filled, finite
from dml.conformance.layouts import Tensor
from dml.conformance.parameters import Choice, flags, sizes, tensor, whole_along
from dml.conformance.references import normalization as reference
from dml.conformance.references.fused import activated
from dml.conformance.references.rounded import rounded
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values
from dml.descriptors.base import OperatorDesc

#: One to eight dimensions: sizes of one, primes, enough elements for a few workgroups, and rows longer than a
#: workgroup.
_SIZES = sizes(
    "2x3x4x5", "7", "3x8", "1x1", "2x3x1100", "1x5x13x17", "2x2x3x2x4", "2x1x2x3x1x2", "1x2x2x1x2x2x3",
    "2x1x2x1x2x2x1x8",
)  # fmt: skip
#: Dimensions that a parameter keeps; it has size 1 in the others. Numbers beyond the tensor's rank have no effect.
_KEPT = {"1": (1,), "none": (), "0.2": (0, 2), "all": range(8)}
#: Large enough that rounding does not decide the result where the variance is 0.
_EPSILONS = {"1e-3": 1e-3, "0.5": 0.5}


def _inputs(desc: OperatorDesc, values: Values) -> Inputs:
    """Return positive variances, and means near the middle of the inputs."""

    def make(name: str, given: Tensor) -> Any:
        if name == "VarianceTensor":
            return values.between(given, 0.1, 3)
        return values.between(given, -1, 1) if name == "MeanTensor" else values.finite(given)

    return filled(desc, make)


def _describe_batch(choice: Choice) -> dict[str, Any]:
    small, other = (tensor(choice.type, whole_along(choice.sizes, kept)) for kept in (choice.kept, choice.other))
    return {
        "MeanTensor": small,
        "VarianceTensor": small,
        "ScaleTensor": other,
        "BiasTensor": other,
        "Spatial": choice.spatial,
        "Epsilon": choice.epsilon,
        "FusedActivation": choice.activation,
    }


def _batch(desc: Any, inputs: Inputs) -> Any:
    names = ("InputTensor", "MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor")
    x, mean, variance, scale, bias = rounded(inputs, *names)
    result = activated(reference.batch(x, mean, variance, scale, bias, desc.Epsilon), desc.FusedActivation)
    why, limit = "a difference, a factor and a sum", 0
    if desc.FusedActivation is None:
        why, limit = f"WebNN: 6 ulp; {why} where they cancel", 6
    return result.expected(desc.OutputTensor, why, limit)


subject(
    d.DML_BATCH_NORMALIZATION_OPERATOR_DESC,
    parameters={
        "sizes": _SIZES,
        "kept": _KEPT,
        "other": _KEPT,
        "spatial": flags(),
        "epsilon": _EPSILONS,
        "activation": fused("RELU", "SIGMOID", "LINEAR"),
    },
    describe=_describe_batch,
    reference=_batch,
    inputs=_inputs,
)


def _describe_training(choice: Choice) -> dict[str, Any]:
    names = ("ScaleTensor", "BiasTensor", "OutputMeanTensor", "OutputVarianceTensor")
    return {
        **dict.fromkeys(names, tensor(choice.type, whole_along(choice.sizes, choice.kept))),
        "FusedAddTensor": tensor(choice.type, choice.sizes) if choice.add else None,
        "Epsilon": choice.epsilon,
        "FusedActivation": choice.activation,
    }


def _training(desc: Any, inputs: Inputs) -> Outputs:
    x, scale, bias, add = rounded(inputs, "InputTensor", "ScaleTensor", "BiasTensor", "FusedAddTensor")
    result, mean, variance = reference.batch_training(x, scale, bias, add, desc.Epsilon)
    why = "float32 statistics, summed in any order"
    return {
        "OutputTensor": activated(result, desc.FusedActivation).expected(desc.OutputTensor, why),
        "OutputMeanTensor": mean.expected(desc.OutputMeanTensor, why),
        "OutputVarianceTensor": variance.expected(desc.OutputVarianceTensor, why),
    }


subject(
    d.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC,
    parameters={
        "sizes": _SIZES,
        "kept": _KEPT,
        "add": flags(),
        "epsilon": _EPSILONS,
        "activation": fused("RELU", "SIGMOID", "LINEAR"),
    },
    describe=_describe_training,
    reference=_training,
    inputs=finite,
)


def _describe_batch_grad(choice: Choice) -> dict[str, Any]:
    names = ("MeanTensor", "VarianceTensor", "ScaleTensor", "OutputScaleGradientTensor", "OutputBiasGradientTensor")
    small = tensor(choice.type, whole_along(choice.sizes, choice.kept))
    return {**dict.fromkeys(names, small), "Epsilon": choice.epsilon}


def _batch_grad(desc: Any, inputs: Inputs) -> Outputs:
    names = ("InputTensor", "InputGradientTensor", "MeanTensor", "VarianceTensor", "ScaleTensor")
    training = isinstance(desc, d.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC)
    x, gradient, mean, variance, scale = rounded(inputs, *names)
    results = reference.batch_grad(x, gradient, mean, variance, scale, desc.Epsilon, training=training)
    fields = ("OutputGradientTensor", "OutputScaleGradientTensor", "OutputBiasGradientTensor")
    why = "float32 sums in any order"
    return {name: result.expected(getattr(desc, name), why) for name, result in zip(fields, results, strict=True)}


for _operator in (d.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC, d.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC):
    subject(
        _operator,
        parameters={"sizes": _SIZES, "kept": _KEPT, "epsilon": _EPSILONS},
        describe=_describe_batch_grad,
        reference=_batch_grad,
        inputs=_inputs,
    )
