"""Normalizations by an item's own statistics, by norms and by neighbours, and with the statistics of batches."""

from __future__ import annotations

from typing import Any

from dml import descriptors as d
from dml.conformance.activations import fused
from dml.conformance.layouts import Tensor
from dml.conformance.parameters import Choice, Skip, flags, sizes, tensor, whole_along
from dml.conformance.references import normalization as reference
from dml.conformance.references.activations import activated
from dml.conformance.references.rounded import rounded
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, filled, finite
from dml.descriptors.base import OperatorDesc

#: One to eight dimensions: sizes of one, primes, enough elements for a few workgroups, and rows longer than a
#: workgroup.
_SIZES = sizes(
    "2x3x4x5", "7", "3x8", "1x1", "2x3x1100", "1x5x13x17", "2x2x3x2x4", "2x1x2x3x1x2", "1x2x2x1x2x2x3",
    "2x1x2x1x2x2x1x8",
)  # fmt: skip
_IMAGES = sizes("2x3x4x5", "1x1x1x1", "1x7x5x6", "3x2x13x1", "1x9x17x23")
#: Large enough that rounding does not decide the result where the variance is 0.
_EPSILONS = {"1e-3": 1e-3, "0.5": 0.5}


_PARAMETERS: dict[str, Any] = {
    "scale": {"yes": (1,), "no": None, "all": range(8), "one": ()},
    "bias": {"yes": (1,), "no": None, "last": (2, 3)},
    "epsilon": _EPSILONS,
    "activation": fused("RELU", "SIGMOID", "LINEAR"),
}


def _normalized(choice: Choice) -> dict[str, Any]:
    """Return the fields that all three operators share."""

    def parameter(kept: Any) -> Tensor | None:
        return None if kept is None else tensor(choice.type, whole_along(choice.sizes, kept))

    return {
        "ScaleTensor": parameter(choice.scale),
        "BiasTensor": parameter(choice.bias),
        "Epsilon": choice.epsilon,
        "FusedActivation": choice.activation,
    }


def _axes(choice: Choice) -> tuple[int, ...]:
    rank = len(choice.sizes)
    if any(axis >= rank for axis in choice.axes if axis >= 0):
        raise Skip("axes beyond the dimensions")
    return tuple(axis % rank for axis in choice.axes) if choice.axes is not _ALL else tuple(range(rank))


_ALL = (-1, -1)
_AXES = {"last": (-1,), "all": _ALL, "0": (0,), "0.2": (0, 2), "3.1": (3, 1), "none": ()}


def _mean_variance(desc: Any, inputs: Inputs) -> Any:
    axes: tuple[int, ...]
    if isinstance(desc, d.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC):
        axes = (1, 2, 3) if desc.CrossChannel else (2, 3)
    else:
        axes = desc.Axes
    x, scale, bias = rounded(inputs, "InputTensor", "ScaleTensor", "BiasTensor")
    result = reference.mean_variance(
        x,
        axes,
        scale,
        bias,
        desc.Epsilon,
        use_mean=getattr(desc, "UseMean", True),
        use_variance=getattr(desc, "UseVariance", getattr(desc, "NormalizeVariance", True)),
    )
    why, limit = "float32 statistics, summed in any order", 0
    if desc.FusedActivation is None:
        why, limit = f"WebNN: 14 ulp; {why}, where they cancel", 14
    return activated(result, desc.FusedActivation).expected(desc.OutputTensor, why, limit)


subject(
    d.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC,
    parameters={"sizes": _IMAGES, "across": flags(), "variance": flags(), **_PARAMETERS},
    describe=lambda c: {**_normalized(c), "CrossChannel": c.across, "NormalizeVariance": c.variance},
    reference=_mean_variance,
    inputs=finite,
)
subject(
    d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
    parameters={"sizes": _SIZES, "axes": _AXES, "variance": flags(), **_PARAMETERS},
    describe=lambda c: {**_normalized(c), "Axes": _axes(c), "NormalizeVariance": c.variance},
    reference=_mean_variance,
    inputs=finite,
)
subject(
    d.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC,
    parameters={"sizes": _SIZES, "axes": _AXES, "use_mean": flags(), "use_variance": flags(), **_PARAMETERS},
    describe=lambda c: {**_normalized(c), "Axes": _axes(c), "UseMean": c.use_mean, "UseVariance": c.use_variance},
    reference=_mean_variance,
    inputs=finite,
)


def _lp(desc: Any, inputs: Inputs) -> Any:
    (x,) = rounded(inputs, "InputTensor")
    result = reference.lp(x, desc.Axis, desc.Epsilon, desc.P)
    return result.expected(desc.OutputTensor, "a float32 sum in any order, a root and a quotient")


def _describe_lp(choice: Choice) -> dict[str, Any]:
    if choice.axis >= len(choice.sizes):
        raise Skip("an axis beyond the dimensions")
    return {"Axis": choice.axis % len(choice.sizes), "Epsilon": choice.epsilon, "P": choice.p}


subject(
    d.DML_LP_NORMALIZATION_OPERATOR_DESC,
    parameters={
        "sizes": _SIZES,
        "axis": {"last": -1, "0": 0, "1": 1, "2": 2},
        "epsilon": _EPSILONS,
        "p": {"2": 2, "1": 1},
    },
    describe=_describe_lp,
    reference=_lp,
    inputs=finite,
)

# --- neighbours -------------------------------------------------------------------------------------------------------

_REGIONS: dict[str, Any] = {
    "sizes": _IMAGES,
    "across": flags(),
    "region": {"3": 3, "1": 1, "2": 2, "8": 8, "2147483648": 2**31},
    "beta": {"0.75": 0.75, "1": 1.0, "-0.5": -0.5},
    "alpha": {"0.7": 0.7, "1e-4": 1e-4},
}


def _region(choice: Choice) -> dict[str, Any]:
    return {
        "CrossChannel": choice.across,
        "LocalSize": choice.region,
        "Alpha": choice.alpha,
        "Beta": choice.beta,
        "Bias": 1.5,
    }


def _region_of(desc: Any) -> tuple[int, float, float, float, bool]:
    return desc.LocalSize, desc.Alpha, desc.Beta, desc.Bias, desc.CrossChannel


def _local_response(desc: Any, inputs: Inputs) -> Any:
    (x,) = rounded(inputs, "InputTensor")
    result = reference.local_response(x, *_region_of(desc))
    return result.expected(desc.OutputTensor, "a float32 sum in any order, a power and a quotient")


def _local_response_grad(desc: Any, inputs: Inputs) -> Any:
    x, gradient = rounded(inputs, "InputTensor", "InputGradientTensor")
    result = reference.local_response_grad(x, gradient, *_region_of(desc))
    return result.expected(desc.OutputGradientTensor, "float32 sums in any order and powers")


subject(
    d.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC,
    parameters=_REGIONS,
    describe=_region,
    reference=_local_response,
    inputs=finite,
)
subject(
    d.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC,
    parameters=_REGIONS,
    describe=_region,
    reference=_local_response_grad,
    inputs=finite,
)

# --- batches ----------------------------------------------------------------------------------------------------------

#: Dimensions that a parameter keeps; it has size 1 in the others. Numbers beyond the tensor's rank have no effect.
_KEPT = {"1": (1,), "none": (), "0.2": (0, 2), "all": range(8)}


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
