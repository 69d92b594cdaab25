"""GRU, LSTM and RNN against float64 NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import reference_recurrent as reference
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from dml.compiler.operators import recurrent
from dml.compiler.selection import max_steps
from dml.compiler.target import DeviceClass, Target
from harness import assert_exact, run, tensor

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
DIRECTIONS = ("FORWARD", "BACKWARD", "BIDIRECTIONAL")
OPTIONAL_INPUTS = ("BiasTensor", "HiddenInitTensor", "CellMemInitTensor", "SequenceLengthsTensor", "PeepholeTensor")
OUTPUTS = ("OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor")

SIGMOID = (dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), reference.sigmoid)
TANH = (dml.DML_ACTIVATION_TANH_OPERATOR_DESC(), np.tanh)


def softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x: Any) -> Any:
    from math import erf

    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


#: Every activation that networks may use, with parameters, and what it is.
ACTIVATIONS: dict[str, tuple[dml.OperatorDesc, Callable[[Any], Any]]] = {
    "LINEAR": (dml.DML_ACTIVATION_LINEAR_OPERATOR_DESC(Alpha=0.5, Beta=0.25), lambda x: 0.5 * x + 0.25),
    "SIGMOID": SIGMOID,
    "HARD_SIGMOID": (
        dml.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC(Alpha=0.3, Beta=0.4),
        lambda x: np.clip(0.3 * x + 0.4, 0, 1),
    ),
    "TANH": TANH,
    "SCALED_TANH": (
        dml.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC(Alpha=0.7, Beta=1.5),
        lambda x: 0.7 * np.tanh(1.5 * x),
    ),
    "RELU": (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(), lambda x: np.maximum(x, 0)),
    "LEAKY_RELU": (dml.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(Alpha=0.2), lambda x: np.where(x >= 0, x, 0.2 * x)),
    "THRESHOLDED_RELU": (
        dml.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC(Alpha=0.1),
        lambda x: np.where(x > 0.1, x, 0),
    ),
    "ELU": (dml.DML_ACTIVATION_ELU_OPERATOR_DESC(Alpha=0.8), lambda x: np.where(x >= 0, x, 0.8 * np.expm1(x))),
    "CELU": (
        dml.DML_ACTIVATION_CELU_OPERATOR_DESC(Alpha=0.5),
        lambda x: np.maximum(x, 0) + np.minimum(0, 0.5 * np.expm1(x / 0.5)),
    ),
    "SCALED_ELU": (
        dml.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC(Alpha=1.6, Gamma=0.7),
        lambda x: 0.7 * np.where(x > 0, x, 1.6 * np.expm1(x)),
    ),
    "SOFTPLUS": (dml.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(Steepness=2.0), lambda x: softplus(2 * x) / 2),
    "PARAMETRIC_SOFTPLUS": (
        dml.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC(Alpha=0.6, Beta=1.2),
        lambda x: 0.6 * softplus(1.2 * x),
    ),
    "SOFTSIGN": (dml.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC(), lambda x: x / (1 + np.abs(x))),
    "IDENTITY": (dml.DML_ACTIVATION_IDENTITY_OPERATOR_DESC(), lambda x: x),
    "SHRINK": (
        dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(Bias=0.1, Threshold=0.2),
        lambda x: np.where(x < -0.2, x + 0.1, np.where(x > 0.2, x - 0.1, 0)),
    ),
    "GELU": (dml.DML_ACTIVATION_GELU_OPERATOR_DESC(), gelu),
}


@dataclass(frozen=True)
class Case:
    """One network: everything that its description and data depend on. sizes: steps, batch, input, hidden."""

    kind: str
    sizes: tuple[int, int, int, int] = (5, 3, 6, 10)
    direction: str = "FORWARD"
    data_type: str = "FLOAT32"
    absent: tuple[str, ...] = ()
    lengths: Sequence[int] | None = None
    layouts: tuple[str, str] = ("packed", "packed")  # of the inputs, of the outputs
    activations: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def functions(self) -> list[tuple[dml.OperatorDesc, Callable[[Any], Any]]]:
        count = FUNCTIONS[self.kind] * (2 if self.direction == "BIDIRECTIONAL" else 1)
        default = {"RNN": ("TANH",), "GRU": ("SIGMOID", "TANH"), "LSTM": ("SIGMOID", "TANH", "TANH")}[self.kind]
        names = self.activations or default * 2
        return [ACTIVATIONS[name] for name in names[:count]]


def data(case: Case) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    steps, batch, size, hidden = case.sizes
    gates, d = GATES[case.kind], 2 if case.direction == "BIDIRECTIONAL" else 1
    kind = dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{case.data_type}"])

    def uniform(reach: float, *sizes: int) -> Any:
        return rng.uniform(-reach, reach, sizes).astype(kind)

    lengths = rng.integers(0, steps + 2, batch) if case.lengths is None else np.array(case.lengths)
    inputs = {
        "InputTensor": uniform(1, 1, steps, batch, size),
        "WeightTensor": uniform(size**-0.5, 1, d, gates * hidden, size),
        "RecurrenceTensor": uniform(hidden**-0.5, 1, d, gates * hidden, hidden),
        "BiasTensor": uniform(0.5, 1, 1, d, 2 * gates * hidden),
        "HiddenInitTensor": uniform(1, 1, d, batch, hidden),
        "SequenceLengthsTensor": lengths.astype(np.uint32).reshape(1, 1, 1, batch),
    }
    if case.kind == "LSTM":
        inputs["CellMemInitTensor"] = uniform(1, 1, d, batch, hidden)
        inputs["PeepholeTensor"] = uniform(0.5, 1, 1, d, 3 * hidden)
    return {name: array for name, array in inputs.items() if name not in case.absent}


def describe(case: Case, inputs: dict[str, Any]) -> dml.OperatorDesc:
    steps, batch, _, hidden = case.sizes
    d = 2 if case.direction == "BIDIRECTIONAL" else 1
    sizes = {"OutputSequenceTensor": (steps, d, batch, hidden), "OutputSingleTensor": (1, d, batch, hidden)}
    more: dict[str, Any] = {}
    if case.kind == "LSTM":
        sizes["OutputCellSingleTensor"] = (1, d, batch, hidden)
        more = {"ClipThreshold": 0.0, "UseClipThreshold": False, "CoupleInputForget": False}
    elif case.kind == "GRU":
        more = {"LinearBeforeReset": True}
    return getattr(dml, f"DML_{case.kind}_OPERATOR_DESC")(
        **{n: tensor(dml.data_type_of(a.dtype), a.shape, case.layouts[0]) for n, a in inputs.items()},
        **{n: tensor(case.data_type, s, case.layouts[1]) for n, s in sizes.items() if n not in case.absent},
        ActivationDescs=[desc for desc, _ in case.functions],
        Direction=dml.DML_RECURRENT_NETWORK_DIRECTION[f"DML_RECURRENT_NETWORK_DIRECTION_{case.direction}"],
        **{**more, **case.attributes},
    )


def expect(case: Case, inputs: dict[str, Any]) -> dict[str, Any]:
    def of(name: str, drop: int) -> Any:
        array = inputs.get(name)
        return None if array is None else array.astype(np.float64).reshape(array.shape[drop:])

    common = [of(name, 1) for name in ("InputTensor", "WeightTensor", "RecurrenceTensor")]
    bias, h0, lengths = of("BiasTensor", 2), of("HiddenInitTensor", 1), of("SequenceLengthsTensor", 3)
    functions = [function for _, function in case.functions]
    attributes = case.attributes
    results: tuple[Any, ...]
    if case.kind == "RNN":
        results = reference.rnn(*common, bias, h0, lengths, functions, case.direction)
    elif case.kind == "GRU":
        linear = attributes.get("LinearBeforeReset", True)
        results = reference.gru(*common, bias, h0, lengths, functions, case.direction, linear)
    else:
        clip = attributes["ClipThreshold"] if attributes.get("UseClipThreshold") else None
        c0, peepholes = of("CellMemInitTensor", 1), of("PeepholeTensor", 2)
        coupled = attributes.get("CoupleInputForget", False)
        results = reference.lstm(*common, bias, h0, c0, lengths, peepholes, functions, case.direction, clip, coupled)
    return dict(zip(OUTPUTS, [results[0], *(last[None] for last in results[1:])], strict=False))


def check(device: dml.Device, case: Case) -> None:
    inputs = data(case)
    outputs = run(device, describe(case, inputs), inputs)
    expected = expect(case, inputs)
    # float32: sums of tens of products of numbers around 1, rounding at each, carried over a few steps. float16: all
    # that is float32, then one rounding to 11 bits.
    rtol, atol = (1e-5, 3e-6) if case.data_type == "FLOAT32" else (2**-11 * 1.01, 4e-6)
    assert {name for name in outputs if outputs[name] is not None} == set(expected) - set(case.absent)
    for name, result in outputs.items():
        np.testing.assert_allclose(result.astype(np.float64), expected[name], rtol, atol, err_msg=name)


#: For each network, pairs of attribute values that should meet: directions, data types, absent tensors, layouts.
COMMON: list[dict[str, Any]] = [
    {},
    {"direction": "BACKWARD", "lengths": (5, 2, 0)},
    {"direction": "BIDIRECTIONAL", "lengths": (0, 3, 5), "layouts": ("padded", "padded")},
    {"direction": "BIDIRECTIONAL", "absent": OPTIONAL_INPUTS, "layouts": ("reversed", "reversed")},
    {"direction": "BACKWARD", "absent": ("SequenceLengthsTensor", "OutputSequenceTensor"), "layouts": ("padded",) * 2},
    {"absent": ("BiasTensor", "PeepholeTensor", "OutputSingleTensor", "OutputCellSingleTensor")},
    {"absent": ("HiddenInitTensor", "OutputSequenceTensor"), "data_type": "FLOAT16"},
    {"direction": "BIDIRECTIONAL", "data_type": "FLOAT16", "absent": ("CellMemInitTensor",), "sizes": (3, 2, 5, 9)},
    {"direction": "BACKWARD", "data_type": "FLOAT16", "layouts": ("padded", "reversed")},
    {"data_type": "FLOAT16", "layouts": ("reversed", "padded"), "absent": ("SequenceLengthsTensor",)},
    {"sizes": (1, 1, 1, 1)},
    {"sizes": (2, 9, 3, 5), "direction": "BIDIRECTIONAL"},
    {"sizes": (2, 17, 4, 7)},
    {"sizes": (3, 2, 5, 130), "direction": "BIDIRECTIONAL"},
    {"sizes": (3, 1, 33, 64)},
]


@pytest.mark.parametrize("number", range(len(COMMON)))
@pytest.mark.parametrize("kind", GATES)
def test_networks(device: dml.Device, kind: str, number: int) -> None:
    attributes = {}
    if kind == "GRU":
        attributes = {"LinearBeforeReset": number % 2 == 0}
    check(device, Case(kind, **COMMON[number], attributes=attributes))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("linear", [False, True])
def test_gru_reset(device: dml.Device, linear: bool, direction: str) -> None:
    check(device, Case("GRU", direction=direction, attributes={"LinearBeforeReset": linear}))


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("clip", [None, 0.3, 0.0])
def test_lstm_attributes(device: dml.Device, clip: float | None, coupled: bool) -> None:
    attributes = {"ClipThreshold": clip or 0.0, "UseClipThreshold": clip is not None, "CoupleInputForget": coupled}
    check(device, Case("LSTM", direction="BIDIRECTIONAL", attributes=attributes))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(device: dml.Device, name: str) -> None:
    """Each as every function of one direction or the other, beside the usual ones."""
    usual = {"RNN": ("TANH",), "GRU": ("SIGMOID", "TANH"), "LSTM": ("SIGMOID", "TANH", "TANH")}
    at = list(ACTIVATIONS).index(name)
    kind = list(GATES)[at % 3]
    functions = (name,) * FUNCTIONS[kind]
    both = functions + usual[kind] if at % 2 else usual[kind] + functions
    check(device, Case(kind, (2, 2, 3, 5), "BIDIRECTIONAL", activations=both))


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_parameters_differ_per_direction(device: dml.Device, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    other = (dml.DML_ACTIVATION_LINEAR_OPERATOR_DESC(Alpha=-0.5, Beta=0.1), lambda x: -0.5 * x + 0.1)
    monkeypatch.setitem(ACTIVATIONS, "OTHER LINEAR", other)
    count = FUNCTIONS[kind]
    check(
        device, Case(kind, (3, 2, 3, 5), "BIDIRECTIONAL", activations=("LINEAR",) * count + ("OTHER LINEAR",) * count)
    )


#: Cuts of the recurrence that devices of other limits take.
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"stepwise": True, "resident": False},
    "steps, several tiles": {"stepwise": True, "resident": False, "workgroup": 8, "units": 2, "rows": 3},
    "several tiles": {"resident": False, "workgroup": 16, "units": 1, "rows": 2},
    "many units and rows": {"resident": False, "workgroup": 8, "units": 3, "rows": 8},
    "resident": {"resident": True, "workgroup": 8, "units": 2, "rows": 2},
    "a GPU's": {"resident": False, "workgroup": 32, "units": 2, "rows": 4},
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", ["GRU", "GRU, reset first", "LSTM", "RNN"])
def test_cuts(device: dml.Device, monkeypatch: pytest.MonkeyPatch, kind: str, cut: str) -> None:
    """Every way to cut the work gives the same."""
    plan = recurrent.plan

    def other(*arguments: Any) -> recurrent.Plan:
        chosen = replace(plan(*arguments), **CUTS[cut])
        hidden = arguments[4]
        return replace(chosen, tiles=-(-hidden // (chosen.workgroup * chosen.units)))

    monkeypatch.setattr(recurrent, "plan", other)
    attributes = {"LinearBeforeReset": kind == "GRU"} if kind.startswith("GRU") else {}
    check(device, Case(kind.split(",")[0], (4, 5, 3, 37), "BIDIRECTIONAL", attributes=attributes))


def test_plans() -> None:
    """What devices of several kinds are given, without one: limits hold, and every unit and row has its place."""
    targets = [
        Target(),
        Target(device_class=DeviceClass.CPU, shared_memory=32768, subgroup_size=8),
        Target(device_class=DeviceClass.CPU, subgroup_size=4),
        Target(device_class=DeviceClass.DISCRETE, max_workgroup_invocations=1024, shared_memory=49152),
    ]
    resident = set()
    for target in targets:
        for hidden in (1, 7, 64, 256, 512, 513, 2048, 9000):
            for batch in (1, 2, 8, 100):
                for cell in (recurrent.RNN, recurrent.GRU, replace(recurrent.GRU, phases=2), recurrent.LSTM):
                    cut = recurrent.plan(target, cell, 64, batch, hidden, 1)
                    assert cut.workgroup <= target.max_workgroup_invocations
                    assert cut.tiles * cut.units * cut.workgroup >= hidden
                    assert 1 <= cut.rows <= batch
                    assert cut.stepwise or 32 * -(-hidden // 4) * cut.rows <= target.shared_memory
                    resident.add((cut.resident, target.subgroup_size))
    assert (True, 8) in resident
    assert (True, 4) not in resident
    assert (True, 1) not in resident


def test_weights_resident_at_size(device: dml.Device) -> None:
    """Enough work for the cut that CPUs take then."""
    assert recurrent.RESIDENT_WORK <= 3 * 64 * 64 * 90 * 8
    check(device, Case("GRU", (90, 8, 5, 64), attributes={"LinearBeforeReset": False}))


def test_state_above_shared_memory(device: dml.Device) -> None:
    """A state that no workgroup's shared memory holds: a dispatch per step."""
    hidden = device.vulkan.target.shared_memory // 8 + 4
    case = Case("RNN", (2, 2, 3, hidden), absent=OPTIONAL_INPUTS)
    assert recurrent.plan(device.vulkan.target, recurrent.RNN, 2, 2, hidden, 1).stepwise
    check(device, case)


PARTS = {
    "RNN": Case("RNN", (43, 5, 3, 10), "BIDIRECTIONAL", lengths=(43, 0, 7, 16, 50)),
    "GRU": Case("GRU", (42, 3, 4, 37), data_type="FLOAT16"),
    "GRU, reset first": Case("GRU", (41, 4, 3, 9), "BACKWARD", attributes={"LinearBeforeReset": False}),
    "LSTM": Case("LSTM", (45, 3, 4, 11), "BIDIRECTIONAL"),
    "no state given or wanted": Case("LSTM", (45, 3, 4, 11), absent=(*OPTIONAL_INPUTS, *OUTPUTS[1:])),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("device_class", [DeviceClass.CPU, DeviceClass.DISCRETE])
def test_parts_are_the_whole_to_the_bit(
    seen_as: Callable[..., dml.Device], name: str, device_class: DeviceClass
) -> None:
    """Few steps of time to a dispatch, which hands its state on."""
    case = PARTS[name]
    inputs = data(case)
    found = []
    for fewer in (None, 256):
        device = seen_as(device_class=device_class, fewer_steps=fewer)
        compiled = device.compile_operator(device.create_operator(describe(case, inputs)))
        loops = [d for d in compiled.program.dispatches if d.label == f"recurrent/{case.kind.lower()}.comp"]
        assert (len(loops) > 1) == (fewer is not None)
        assert len(loops) < case.sizes[0]
        assert max(dispatch.steps for dispatch in loops) <= max_steps(device.vulkan.target)
        found.append(compiled.dispatch(inputs))
    for output, whole in found[0].items():
        if whole is not None:
            assert_exact(found[1][output], whole)


def test_a_long_sequence(device: dml.Device) -> None:
    """Above what llvmpipe grants an invocation's loops, which it ended without a word."""
    case = Case("GRU", (5000, 1, 2, 16), attributes={"LinearBeforeReset": True}, lengths=(5000,))
    inputs = data(case)
    outputs, expected = run(device, describe(case, inputs), inputs), expect(case, inputs)
    for name, result in outputs.items():
        np.testing.assert_allclose(result, expected[name], 1e-4, 1e-5, err_msg=name)


def test_broadcast_weights(device: dml.Device) -> None:
    """Strides of 0: both directions, all rows and all steps share what is stored once."""
    case = Case("GRU", (3, 4, 3, 6), "BIDIRECTIONAL", absent=("SequenceLengthsTensor",))
    inputs = data(case)
    desc = describe(case, inputs)
    changes = {}
    for name, axes in {
        "InputTensor": (1, 2), "WeightTensor": (1,), "RecurrenceTensor": (1,), "BiasTensor": (2,),
        "HiddenInitTensor": (2, 3),
    }.items():  # fmt: skip
        strides = list(dml.packed_strides(inputs[name].shape))
        for axis in axes:
            strides[axis] = 0
            inputs[name] = np.repeat(np.take(inputs[name], [0], axis), inputs[name].shape[axis], axis)
        changes[name] = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, inputs[name].shape, strides)
    outputs = run(device, replace(desc, **changes), inputs)
    for name, expected in expect(case, inputs).items():
        np.testing.assert_allclose(outputs[name], expected, 1e-5, 3e-6)


def test_not_finite(device: dml.Device) -> None:
    """NaN and infinity in one row stay in it, and go on to its later states."""
    case = Case("GRU", (4, 3, 3, 5), absent=("SequenceLengthsTensor",))
    inputs = data(case)
    inputs["InputTensor"][0, 1, 1, 0] = np.nan
    inputs["InputTensor"][0, 2, 2, 1] = np.inf
    outputs = run(device, describe(case, inputs), inputs)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = expect(case, inputs)
    assert np.isnan(expected["OutputSequenceTensor"][1:, 0, 1]).all()
    for name, values in expected.items():
        np.testing.assert_allclose(outputs[name], values, 1e-5, 3e-6)


@settings(max_examples=10)
@given(
    kind=st.sampled_from(sorted(GATES)),
    sizes=st.tuples(*(st.integers(1, most) for most in (6, 10, 9, 40))),
    direction=st.sampled_from(DIRECTIONS),
    data_type=st.sampled_from(["FLOAT32", "FLOAT16"]),
    absent=st.sets(st.sampled_from([*OPTIONAL_INPUTS, "OutputSequenceTensor"])),
    layouts=st.tuples(*[st.sampled_from(["packed", "padded", "reversed"])] * 2),
    flag=st.booleans(),
)
def test_any(device: dml.Device, kind: str, flag: bool, absent: set[str], **more: Any) -> None:
    attributes = {"GRU": {"LinearBeforeReset": flag}, "LSTM": {"CoupleInputForget": flag}}.get(kind, {})
    check(device, Case(kind, absent=tuple(sorted(absent)), attributes=attributes, **more))
