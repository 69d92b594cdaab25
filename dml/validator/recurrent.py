"""Rules of the recurrent networks.

Sizes: seq_length, batch_size and input_size come from InputTensor, num_directions from Direction, hidden_size from
RecurrenceTensor; every other size follows.
"""

from __future__ import annotations

from ..descriptors import DML_GRU_OPERATOR_DESC
from ..enums import DML_RECURRENT_NETWORK_DIRECTION
from .base import Check, rule


def direction_count(direction: DML_RECURRENT_NETWORK_DIRECTION) -> int:
    """2 for a bidirectional network, else 1."""
    both = DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL
    return 2 if direction == both else 1


@rule(DML_GRU_OPERATOR_DESC)
def gru(desc: DML_GRU_OPERATOR_DESC, check: Check) -> None:
    directions = direction_count(desc.Direction)
    one, seq_length, batch_size, input_size = desc.InputTensor.Sizes
    hidden_size = desc.RecurrenceTensor.Sizes[3]
    check.that(one == 1, "InputTensor", "must have size 1 in dimension 0", desc.InputTensor.Sizes)
    check.sizes("WeightTensor", (1, directions, 3 * hidden_size, input_size),
                why="1, num_directions, 3 * hidden_size, input_size")  # fmt: skip
    check.sizes("RecurrenceTensor", (1, directions, 3 * hidden_size, hidden_size),
                why="1, num_directions, 3 * hidden_size, hidden_size")  # fmt: skip
    check.sizes("BiasTensor", (1, 1, directions, 6 * hidden_size), why="1, 1, num_directions, 6 * hidden_size")
    check.sizes("HiddenInitTensor", (1, directions, batch_size, hidden_size),
                why="1, num_directions, batch_size, hidden_size")  # fmt: skip
    check.sizes("SequenceLengthsTensor", (1, 1, 1, batch_size), why="1, 1, 1, batch_size")
    check.present("OutputSequenceTensor", "OutputSingleTensor", at_least=1)
    check.sizes("OutputSequenceTensor", (seq_length, directions, batch_size, hidden_size),
                why="seq_length, num_directions, batch_size, hidden_size")  # fmt: skip
    check.sizes("OutputSingleTensor", (1, directions, batch_size, hidden_size),
                why="1, num_directions, batch_size, hidden_size")  # fmt: skip
    check.not_owned("InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", "HiddenInitTensor",
                    "SequenceLengthsTensor")  # fmt: skip
    check.activations("ActivationDescs", 2 * directions, why="f and g of each direction")
