"""ADAM_OPTIMIZER against the page's formula in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.conformance.references import adam
from harness import LAYOUTS, Array, assert_ulp, like, tensor

RATES = {"LearningRate": 0.01, "Beta1": 0.9, "Beta2": 0.999, "Epsilon": 1e-8}
WHY = "half an ulp an operation in float32, and the correction's few"
INPUTS = ("InputParametersTensor", "InputFirstMomentTensor", "InputSecondMomentTensor", "GradientTensor")
OUTPUTS = ("OutputParametersTensor", "OutputFirstMomentTensor", "OutputSecondMomentTensor")


def describe(x: dml.DML_BUFFER_TENSOR_DESC, step: str = "UINT32", **rates: float) -> Any:
    return dml.DML_ADAM_OPTIMIZER_OPERATOR_DESC(
        **dict.fromkeys((*INPUTS, *OUTPUTS), x), TrainingStepTensor=tensor(step, (1, 1, 1, 1)), **{**RATES, **rates}
    )


def reference(inputs: dict[str, Array], **rates: float) -> dict[str, Array]:
    x, m, v, g = (inputs[name].astype(np.float64) for name in INPUTS)
    single = {name: float(np.float32(value)) for name, value in {**RATES, **rates}.items()}
    found, _ = adam.step(x, m, v, g, float(inputs["TrainingStepTensor"].item()), single)
    return dict(zip(OUTPUTS, found, strict=True))


def arrays(dtype: str, sizes: tuple[int, ...], step: Any) -> dict[str, Array]:
    """Return values of one sign, so that no difference cancels and a tolerance in ulp is meaningful."""
    rng = np.random.default_rng(1)
    found = {name: harness.random(rng, dtype, sizes, 0.5, 2) for name in INPUTS}
    return {**found, "TrainingStepTensor": np.asarray(step).reshape(1, 1, 1, 1)}


def check(found: dict[str, Array], inputs: dict[str, Array], **rates: float) -> None:
    for name, expected in reference(inputs, **rates).items():
        assert_ulp(found[name], expected, 1 if found[name].dtype == np.float16 else 6, WHY)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_types_and_layouts(device: dml.Device, dtype: str, layout: str) -> None:
    inputs = arrays(dtype, (3, 5, 1, 7), np.uint32(3))
    x = like(inputs["GradientTensor"], layout)
    check(harness.run(device, describe(x), inputs), inputs)


@pytest.mark.parametrize("step", [np.uint32(1), np.float32(1), np.float16(2), np.uint32(1000), np.uint32(10**6)])
def test_steps(device: dml.Device, step: Any) -> None:
    """The bias correction stays accurate where Beta^T is near 1 and where it vanishes."""
    inputs = arrays("FLOAT32", (1, 1, 2, 9), step)
    name = {"f4": "FLOAT32", "f2": "FLOAT16", "u4": "UINT32"}[inputs["TrainingStepTensor"].dtype.str[1:]]
    rates = {"LearningRate": 100.0}  # the step is larger than the parameter, so that its errors show
    found = harness.run(device, describe(tensor("FLOAT32", (1, 1, 2, 9)), name, **rates), inputs)
    check(found, inputs, **rates)


@pytest.mark.parametrize("rates", [{"Beta1": 0.0}, {"Beta2": 0.0, "Epsilon": 0.5}, {"Beta1": 0.5, "Beta2": 0.25}])
def test_rates(device: dml.Device, rates: dict[str, float]) -> None:
    inputs = arrays("FLOAT32", (1, 1, 1, 5), np.uint32(2))
    check(harness.run(device, describe(tensor("FLOAT32", (1, 1, 1, 5)), **rates), inputs), inputs, **rates)


def test_step_zero_follows_the_formula(device: dml.Device) -> None:
    inputs = arrays("FLOAT32", (1, 1, 1, 3), np.uint32(0))
    found = harness.run(device, describe(tensor("FLOAT32", (1, 1, 1, 3))), inputs)
    assert np.isnan(found["OutputParametersTensor"]).all()
    check(found, inputs)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("buffers_bound", [8, 6, 4, 2])
def test_in_place(seen_as: Callable[..., dml.Device], dtype: str, buffers_bound: int) -> None:
    """Outputs are bound to the inputs' buffers, or parameters to the gradient's buffer; also on devices with Vulkan's
    minimum of storage buffers, and with two, where the outputs share a buffer as well."""
    inputs = arrays(dtype, (1, 1, 3, 15), np.uint32(5))
    desc = describe(like(inputs["GradientTensor"]))
    device = seen_as(max_storage_buffers=buffers_bound)
    for order in ((0, 1, 2), (3, 1, 2)):
        buffers = [
            device.create_buffer(np.resize(array, -(-array.size // 2) * 2) if array.itemsize == 2 else array)
            for array in inputs.values()
        ]
        harness.run_on(device, desc, buffers, [buffers[at] for at in order])
        kind, sizes = inputs["GradientTensor"].dtype, inputs["GradientTensor"].shape
        found = {
            name: buffers[at].read(kind, int(np.prod(sizes))).reshape(sizes)
            for name, at in zip(reference(inputs), order, strict=True)
        }
        check(found, inputs)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"TrainingStepTensor": tensor("UINT32", (1, 1, 1, 2))}, "TrainingStepTensor: must have sizes (1, 1, 1, 1)"),
        ({"TrainingStepTensor": tensor("INT32", (1, 1, 1, 1))}, "TrainingStepTensor"),
        ({"GradientTensor": tensor("FLOAT32", (1, 1, 3, 2))}, "must have the sizes of"),
        ({"OutputSecondMomentTensor": tensor("FLOAT16", (1, 1, 2, 3))}, "must have the data type of"),
        ({"Beta1": 1.5}, "Beta1: must be from 0 to 1"),
        ({"Beta2": -0.5}, "Beta2: must be from 0 to 1"),
    ],
)
def test_wrong_descriptions(change: dict[str, Any], message: str) -> None:
    desc = describe(tensor("FLOAT32", (1, 1, 2, 3)))
    dml.validate(desc)
    with pytest.raises(dml.DMLError) as error:
        dml.validate(desc.replace(**change))
    assert message in str(error.value)
