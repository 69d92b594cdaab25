"""Rules of the recurrent networks.

Sizes: seq_length, batch_size and input_size come from InputTensor, num_directions from Direction, hidden_size from
RecurrenceTensor; every other size follows.
"""

from __future__ import annotations

from .. import descriptors as d
from ..enums import DML_RECURRENT_NETWORK_DIRECTION
from .base import Check, rule


def direction_count(direction: DML_RECURRENT_NETWORK_DIRECTION) -> int:
    """Return 2 for a bidirectional network, else 1."""
    both = DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL
    return 2 if direction == both else 1


@rule(d.DML_GRU_OPERATOR_DESC, gates=3, functions="fg")
@rule(d.DML_RNN_OPERATOR_DESC, gates=1, functions="f")
def network(
    desc: d.DML_GRU_OPERATOR_DESC | d.DML_LSTM_OPERATOR_DESC | d.DML_RNN_OPERATOR_DESC,
    check: Check,
    gates: int,
    functions: str,
    states: tuple[str, ...] = ("HiddenInitTensor",),
    outputs: tuple[str, ...] = ("OutputSingleTensor",),
) -> None:
    """Check the rules of every network. states, outputs: fields of the initial and the last states."""
    directions = direction_count(desc.Direction)
    leading, seq_length, batch_size, input_size = desc.InputTensor.Sizes
    hidden_size = desc.RecurrenceTensor.Sizes[3]
    units = "hidden_size" if gates == 1 else f"{gates} * hidden_size"
    check.that(leading == 1, "InputTensor", "must have size 1 in dimension 0", desc.InputTensor.Sizes)
    check.sizes(
        "WeightTensor", (1, directions, gates * hidden_size, input_size), why=f"1, num_directions, {units}, input_size"
    )
    check.sizes(
        "RecurrenceTensor",
        (1, directions, gates * hidden_size, hidden_size),
        why=f"1, num_directions, {units}, hidden_size",
    )
    check.sizes(
        "BiasTensor",
        (1, 1, directions, 2 * gates * hidden_size),
        why=f"1, 1, num_directions, {2 * gates} * hidden_size",
    )
    state = (1, directions, batch_size, hidden_size)
    for name in states:
        check.sizes(name, state, why="1, num_directions, batch_size, hidden_size")
    check.sizes("SequenceLengthsTensor", (1, 1, 1, batch_size), why="1, 1, 1, batch_size")
    check.present("OutputSequenceTensor", *outputs, at_least=1)
    check.sizes(
        "OutputSequenceTensor",
        (seq_length, directions, batch_size, hidden_size),
        why="seq_length, num_directions, batch_size, hidden_size",
    )
    for name in outputs:
        check.sizes(name, state, why="1, num_directions, batch_size, hidden_size")
    check.not_owned("InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", *states, "SequenceLengthsTensor")
    why = f"{', '.join(functions)} of each direction"
    check.activations("ActivationDescs", len(functions) * directions, why=why)
    for index, activation in enumerate(desc.ActivationDescs):
        # Each row ends at its own step, and each direction has its own functions.
        axes = tuple(getattr(activation, "Axes", (3,)))
        rule = "must be (3,), the units of {1, num_directions, batch_size, hidden_size}"
        check.that(axes == (3,), f"ActivationDescs[{index}].Axes", rule, axes)


@rule(d.DML_LSTM_OPERATOR_DESC)
def lstm(desc: d.DML_LSTM_OPERATOR_DESC, check: Check) -> None:
    states = ("HiddenInitTensor", "CellMemInitTensor")
    outputs = ("OutputSingleTensor", "OutputCellSingleTensor")
    network(desc, check, 4, "fgh", states, outputs)
    directions, hidden_size = direction_count(desc.Direction), desc.RecurrenceTensor.Sizes[3]
    check.sizes("PeepholeTensor", (1, 1, directions, 3 * hidden_size), why="1, 1, num_directions, 3 * hidden_size")
    check.not_owned("PeepholeTensor")
    if desc.UseClipThreshold:
        check.at_least("ClipThreshold", 0)
