"""Recurrent networks: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dml import descriptors as d
from dml import enums
from dml.conformance.activations import fused
from dml.conformance.layouts import Tensor
from dml.conformance.parameters import Choice, enumerators, flags, sizes, tensor
from dml.conformance.references import recurrent as reference
from dml.conformance.references.activations import activated
from dml.conformance.references.rounded import Numbers, each, rounded
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, filled

#: Steps, batch, inputs, hidden units: ones, primes, more units than a workgroup has invocations.
_SIZES = sizes("5x3x6x10", "1x1x1x1", "3x4x7x33", "7x2x1x5", "2x5x17x67")
#: The usual activations, and their replacements.
_USUAL = ("SIGMOID", "TANH")
_OTHERS = ("LINEAR", "HARD_SIGMOID", "ELU", "GELU", "SOFTMAX")
_ACTIVATIONS = fused(*_USUAL, *_OTHERS)
_OUTPUTS = ("OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor")


def _parameters(*usual: str, **more: Any) -> dict[str, Any]:
    return {
        "sizes": _SIZES,
        "direction": enumerators(enums.DML_RECURRENT_NETWORK_DIRECTION),
        "bias": flags(),
        "start": flags(),
        "lengths": flags(),
        "outputs": {"all": _OUTPUTS, "sequence": _OUTPUTS[:1], "last": _OUTPUTS[1:]},
        "activations": {"usual": (usual, usual[::-1])} | {name: (_with(name, usual), usual) for name in _OTHERS},
        **more,
    }


def _with(name: str, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return a direction's activations: ``name`` in place of each usual one, but the usual ones for gates, since
    unbounded gates would let the state exceed float32."""
    gates = usual[:1] if len(usual) > 1 and name != "HARD_SIGMOID" else ()
    return (*gates, *(name for _ in usual[len(gates) :]))


def _network(choice: Choice, gates: int) -> dict[str, Any]:
    """Return the fields that all three networks share."""
    steps, batch, size, hidden = choice.sizes
    both = choice.direction == enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL
    directions = 2 if both else 1
    state = tensor(choice.type, (1, directions, batch, hidden))
    functions = [name for of_direction in choice.activations[:directions] for name in of_direction]
    sequence = tensor(choice.type, (steps, directions, batch, hidden))
    return {
        "InputTensor": tensor(choice.type, (1, steps, batch, size)),
        "WeightTensor": tensor(choice.type, (1, directions, gates * hidden, size)),
        "RecurrenceTensor": tensor(choice.type, (1, directions, gates * hidden, hidden)),
        "BiasTensor": tensor(choice.type, (1, 1, directions, 2 * gates * hidden)) if choice.bias else None,
        "HiddenInitTensor": state if choice.start else None,
        "SequenceLengthsTensor": tensor(enums.DML_TENSOR_DATA_TYPE_UINT32, (1, 1, 1, batch))
        if choice.lengths
        else None,
        "OutputSequenceTensor": sequence if _OUTPUTS[0] in choice.outputs else None,
        "OutputSingleTensor": state if _OUTPUTS[1] in choice.outputs else None,
        "ActivationDescs": [_ACTIVATIONS[name] for name in functions],
        "Direction": choice.direction,
    }


def _inputs(desc: Any, values: Values) -> Inputs:
    """Return weights that keep sums around 1, and lengths from 0 to all steps; the last one is 0."""
    hidden, steps = desc.RecurrenceTensor.Sizes[-1], desc.InputTensor.Sizes[1]

    def make(name: str, given: Tensor) -> Any:
        if name == "SequenceLengthsTensor":
            lengths = values.integers(given, 0, steps)
            lengths[..., 0] = steps
            lengths[..., -1] = steps if lengths.size == 1 else 0
            return lengths
        reach = {"WeightTensor": given.Sizes[-1] ** -0.5, "RecurrenceTensor": hidden**-0.5, "BiasTensor": 0.5}
        return values.between(given, -reach.get(name, 1), reach.get(name, 1))

    return filled(desc, make)


def _without(x: Numbers | None, leading: int) -> Numbers | None:
    """Return a tensor without its leading dimensions, all of size 1."""
    return None if x is None else each(x, lambda v: v.reshape(v.shape[leading:]))


def _reference(
    desc: Any, inputs: Inputs, run: Callable[[reference.RecurrentReference], tuple[Numbers, ...]], ulp: float = 0
) -> Outputs:
    """Return the expected outputs. ulp: WebNN's limit for the network, if it has one."""
    x, w, r, bias, h0 = rounded(
        inputs, "InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", "HiddenInitTensor"
    )
    lengths = inputs.get("SequenceLengthsTensor")
    directions = {
        enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD: "BACKWARD",
        enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL: "BIDIRECTIONAL",
    }
    network = reference.RecurrentReference(
        _without(x, 1),
        _without(w, 1),
        _without(r, 1),
        _without(bias, 2),
        _without(h0, 1),
        None if lengths is None else lengths.ravel(),
        [partial(activated, activation=activation) for activation in desc.ActivationDescs],
        directions.get(desc.Direction, "FORWARD"),
    )
    found: dict[str, Any] = {}
    why = "float32 sums in any order, carried through the steps"
    if ulp:
        why = f"WebNN: {ulp} ulp; where it cancels {why}"
    for name, result in zip(_OUTPUTS, run(network), strict=False):
        output = getattr(desc, name)
        if output is not None:
            found[name] = result.expected(output, why, ulp)
    return found


# --- the three networks -----------------------------------------------------------------------------------------------

subject(
    d.DML_RNN_OPERATOR_DESC,
    parameters=_parameters("TANH"),
    describe=lambda choice: _network(choice, 1),
    reference=lambda desc, inputs: _reference(desc, inputs, reference.rnn),
    inputs=_inputs,
    values=("ordinary",),
)
subject(
    d.DML_GRU_OPERATOR_DESC,
    parameters=_parameters("SIGMOID", "TANH", linear_before_reset={"yes": True, "no": False}),
    describe=lambda choice: {**_network(choice, 3), "LinearBeforeReset": choice.linear_before_reset},
    reference=lambda desc, inputs: _reference(
        desc, inputs, partial(reference.gru, linear_before_reset=desc.LinearBeforeReset), 6
    ),
    inputs=_inputs,
    values=("ordinary",),
)


def _describe_lstm(choice: Choice) -> dict[str, Any]:
    network = _network(choice, 4)
    _, batch, _, hidden = choice.sizes
    directions = network["RecurrenceTensor"].Sizes[1]
    state = tensor(choice.type, (1, directions, batch, hidden))
    return {
        **network,
        "CellMemInitTensor": state if choice.cell_start else None,
        "PeepholeTensor": tensor(choice.type, (1, 1, directions, 3 * hidden)) if choice.peepholes else None,
        "OutputCellSingleTensor": state if _OUTPUTS[2] in choice.outputs else None,
        "ClipThreshold": choice.clip or 0.0,
        "UseClipThreshold": choice.clip is not None,
        "CoupleInputForget": choice.coupled,
    }


def _lstm(desc: Any, inputs: Inputs) -> Outputs:
    c0, peepholes = rounded(inputs, "CellMemInitTensor", "PeepholeTensor")
    clip = desc.ClipThreshold if desc.UseClipThreshold else None
    run = partial(
        reference.lstm,
        c0=_without(c0, 1),
        peepholes=_without(peepholes, 2),
        clip=clip,
        coupled=desc.CoupleInputForget,
    )
    return _reference(desc, inputs, run, 3)


subject(
    d.DML_LSTM_OPERATOR_DESC,
    parameters=_parameters(
        "SIGMOID",
        "TANH",
        "TANH",
        cell_start=flags(),
        peepholes=flags(),
        clip={"none": None, "0.4": 0.4, "0": 0.0},
        coupled=flags(),
    ),
    describe=_describe_lstm,
    reference=_lstm,
    inputs=_inputs,
    values=("ordinary",),
)
