"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dml.graph.operations as op
from dml import enums
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC
from dml.frontends.pydirectml.enumerations import OutputOptions, RecurrentNetworkDirection
from dml.frontends.pydirectml.expressions import Expression, node
from dml.graph.operations.sizes import sizes_of
from dml.tensors import DML_BUFFER_TENSOR_DESC

from .common import REQUIRED, FusedActivation, fused, need


class GRUOutputs:
    """Outputs of ``gru``; one that was not requested is empty."""

    def __init__(self, sequence: Expression, single: Expression) -> None:
        self.sequence = sequence
        self.single = single


def gru(
    input: Expression,
    weight: Expression,
    recurrence: Expression,
    bias: Expression | None = None,
    hidden_init: Expression | None = None,
    sequence_lengths: Expression | None = None,
    activation_descs: Sequence[FusedActivation] = REQUIRED,
    direction: Any = REQUIRED,
    linear_before_reset: int = 1,
    output_options: Any = REQUIRED,
) -> GRUOutputs:
    """Run a gated recurrent unit over {1, sequence, batch, input}. output_options: the outputs to return."""
    need(activation_descs=activation_descs, direction=direction, output_options=output_options)
    _, sequence, batch, _ = sizes_of("pydirectml.gru", input.tensor, 4)
    hidden = sizes_of("pydirectml.gru", recurrence.tensor, 4)[3]
    kind = input.tensor.data_type
    both = enums.DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL
    directions = 2 if int(direction) == both else 1
    whole = DML_BUFFER_TENSOR_DESC(kind, (sequence, directions, batch, hidden))
    last = DML_BUFFER_TENSOR_DESC(kind, (1, directions, batch, hidden))
    results = node(
        DML_GRU_OPERATOR_DESC,
        {
            "OutputSequenceTensor": None if output_options == OutputOptions.Single else whole,
            "OutputSingleTensor": None if output_options == OutputOptions.Sequence else last,
        },
        input,
        InputTensor=input,
        WeightTensor=weight,
        RecurrenceTensor=recurrence,
        BiasTensor=bias,
        HiddenInitTensor=hidden_init,
        SequenceLengthsTensor=sequence_lengths,
        ActivationDescs=tuple(desc for desc in map(fused, activation_descs) if desc is not None),
        Direction=int(direction),
        LinearBeforeReset=bool(linear_before_reset),
    )
    return GRUOutputs(results["OutputSequenceTensor"], results["OutputSingleTensor"])


class LSTMOutputs:
    """Outputs of ``lstm``: every state, the last state, and the last cell."""

    def __init__(self, sequence: Expression, single: Expression, cell_single: Expression) -> None:
        self.sequence = sequence
        self.single = single
        self.cell_single = cell_single


def lstm(
    input: Expression,
    weight: Expression,
    recurrence: Expression,
    bias: Expression | None = None,
    hidden_init: Expression | None = None,
    cell_mem_init: Expression | None = None,
    sequence_lengths: Expression | None = None,
    peephole: Expression | None = None,
    activation_descs: Sequence[FusedActivation] = (),
    direction: Any = RecurrentNetworkDirection.FORWARD,
    clip_threshold: float | None = None,
    couple_input_forget: bool = False,
) -> LSTMOutputs:
    """Run long short-term memory over {1, sequence, batch, input}; arguments as for ``gru``.

    activation_descs: f, g and h for each direction, by default sigmoid, tanh and tanh. clip_threshold: None for no
    limit.
    """
    optional = (bias, hidden_init, cell_mem_init, sequence_lengths, peephole)
    sequence, single, cell = op.lstm(
        input.tensor,
        weight.tensor,
        recurrence.tensor,
        *(None if tensor is None else tensor.tensor for tensor in optional),
        activations=tuple(desc for desc in map(fused, activation_descs) if desc is not None),
        direction=enums.DML_RECURRENT_NETWORK_DIRECTION(int(direction)),
        clip_threshold=clip_threshold,
        couple_input_forget=bool(couple_input_forget),
    )
    return LSTMOutputs(Expression(sequence), Expression(single), Expression(cell))
