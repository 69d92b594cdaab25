"""ADAM_OPTIMIZER: an early, a middle and a late step, with gradients of both signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.conformance.limits import Expected
from dml.conformance.parameters import sizes, tensor
from dml.conformance.references import adam
from dml.conformance.references.activations import attributes_of
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values
from dml.descriptors import DML_ADAM_OPTIMIZER_OPERATOR_DESC
from dml.tensors import numpy_dtype

_INPUTS = ("InputParametersTensor", "InputFirstMomentTensor", "InputSecondMomentTensor", "GradientTensor")
_OUTPUTS = ("OutputParametersTensor", "OutputFirstMomentTensor", "OutputSecondMomentTensor")
_WHY = "half an ulp of float32 per operation and term; FLOAT16 rounds once more"
_RATES = {
    "usual": {"LearningRate": 0.01, "Beta1": 0.9, "Beta2": 0.999, "Epsilon": 1e-8},
    "large": {"LearningRate": 100.0, "Beta1": 0.5, "Beta2": 0.25, "Epsilon": 0.5},
    "no-moments": {"LearningRate": 1.0, "Beta1": 0.0, "Beta2": 0.0, "Epsilon": 1e-3},
}


def _inputs(desc: Any, values: Values) -> Inputs:
    inputs: dict[str, Any] = {name: values.between(getattr(desc, name), -2, 2) for name in _INPUTS}
    inputs["InputSecondMomentTensor"] = values.between(desc.InputSecondMomentTensor, 0.25, 2)
    step = np.array([[[[values.rng.choice([1, 2, 10, 1000])]]]])
    return {**inputs, "TrainingStepTensor": step.astype(numpy_dtype(desc.TrainingStepTensor.DataType))}


def _reference(desc: Any, given: Inputs) -> dict[str, Expected]:
    x, m, v, g = (given[name].astype(np.float64) for name in _INPUTS)
    found, off = adam.step(x, m, v, g, float(given["TrainingStepTensor"].item()), attributes_of(desc))
    return {name: Expected(one, 1, far, _WHY) for name, one, far in zip(_OUTPUTS, found, off, strict=True)}


subject(
    DML_ADAM_OPTIMIZER_OPERATOR_DESC,
    parameters={
        "sizes": sizes("2x3x5x7", "1x1x1x1", "1x1x1x67", "1x1x13x331"),
        "step": "TrainingStepTensor",
        "rates": _RATES,
    },
    describe=lambda choice: {"TrainingStepTensor": tensor(choice.step, (1, 1, 1, 1)), **choice.rates},
    reference=_reference,
    inputs=_inputs,
    values=("ordinary",),
)
