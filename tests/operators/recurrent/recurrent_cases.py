"""Network cases: their descriptions and data, and expected results from float64 NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import dml
from dml.conformance.activations import fused
from dml.conformance.references import recurrent as reference
from dml.conformance.references import softmax as softmaxes
from dml.conformance.references.activations import activated
from harness import run, tensor

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
DIRECTIONS = ("FORWARD", "BACKWARD", "BIDIRECTIONAL")
OPTIONAL_INPUTS = ("BiasTensor", "HiddenInitTensor", "CellMemInitTensor", "SequenceLengthsTensor", "PeepholeTensor")
OUTPUTS = ("OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor")


#: Every activation that recurrent networks accept, with parameters.
ACTIVATIONS: dict[str, dml.OperatorDesc] = {name: desc for name, desc in fused().items() if desc is not None}


@dataclass(frozen=True)
class Case:
    """One network: all parameters of its description and data. sizes: steps, batch, input, hidden."""

    kind: str
    sizes: tuple[int, int, int, int] = (5, 3, 6, 10)
    direction: str = "FORWARD"
    data_type: str = "FLOAT32"
    absent: tuple[str, ...] = ()
    lengths: Sequence[int] | None = None
    layouts: tuple[str, str] = ("packed", "packed")  # layouts of the inputs, and of the outputs
    activations: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def functions(self) -> list[dml.OperatorDesc]:
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
        ActivationDescs=case.functions,
        Direction=dml.DML_RECURRENT_NETWORK_DIRECTION[f"DML_RECURRENT_NETWORK_DIRECTION_{case.direction}"],
        **{**more, **case.attributes},
    )


def applied(x: Any, activation: dml.OperatorDesc) -> Any:
    """Apply an activation to one row's gate, {units}; reducing activations reduce this axis."""
    name = type(activation).__name__.removeprefix("DML_ACTIVATION_").removesuffix("_OPERATOR_DESC").removesuffix("1")
    reducing = getattr(softmaxes, name.lower()) if name in ("HARDMAX", "LOG_SOFTMAX", "SOFTMAX") else None
    return activated(x, activation) if reducing is None else reducing(x, (0,))


def expect(case: Case, inputs: dict[str, Any]) -> dict[str, Any]:
    def of(name: str, drop: int) -> Any:
        array = inputs.get(name)
        return None if array is None else array.astype(np.float64).reshape(array.shape[drop:])

    network = reference.RecurrentReference(
        *(of(name, 1) for name in ("InputTensor", "WeightTensor", "RecurrenceTensor")),
        of("BiasTensor", 2),
        of("HiddenInitTensor", 1),
        of("SequenceLengthsTensor", 3),
        [partial(applied, activation=activation) for activation in case.functions],
        case.direction,
    )
    attributes = case.attributes
    if case.kind == "RNN":
        results = reference.rnn(network)
    elif case.kind == "GRU":
        results = reference.gru(network, attributes.get("LinearBeforeReset", True))
    else:
        clip = attributes["ClipThreshold"] if attributes.get("UseClipThreshold") else None
        c0, peepholes = of("CellMemInitTensor", 1), of("PeepholeTensor", 2)
        results = reference.lstm(network, c0, peepholes, clip, attributes.get("CoupleInputForget", False))
    return dict(zip(OUTPUTS, [results[0], *(last[None] for last in results[1:])], strict=False))


def check(device: dml.Device, case: Case) -> None:
    inputs = data(case)
    outputs = run(device, describe(case, inputs), inputs)
    expected = expect(case, inputs)
    # float32: sums of tens of products of numbers around 1, each rounded, carried over a few steps. float16: the
    # float32 error, then one rounding to 11 bits.
    rtol, atol = (1e-5, 3e-6) if case.data_type == "FLOAT32" else (2**-11 * 1.01, 4e-6)
    assert {name for name in outputs if outputs[name] is not None} == set(expected) - set(case.absent)
    for name, result in outputs.items():
        np.testing.assert_allclose(result.astype(np.float64), expected[name], rtol, atol, err_msg=name)
