"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml import enums
from dml.arguments import checked
from dml.capability import short_name
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC
from dml.graph.builder import Operand, Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC, ordered_strides

from .activation import fused
from .sizes import sizes_of

__all__ = ["gru", "lstm", "rnn"]

_SIGMOID = fused(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC)
_TANH = fused(act.DML_ACTIVATION_TANH_OPERATOR_DESC)
_INPUTS = ("InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", "HiddenInitTensor", "SequenceLengthsTensor")


@checked
def gru(
    x: Tensor,
    weight: Operand,
    recurrence: Operand,
    bias: Operand | None = None,
    hidden: Operand | None = None,
    lengths: Operand | None = None,
    *,
    activations: Sequence[OperatorDesc] = (),
    direction: enums.DML_RECURRENT_NETWORK_DIRECTION | str = enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    linear_before_reset: bool = True,
    steps_together: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the whole output sequence {S, D, B, H} and the last state {1, D, B, H} of a GRU over {1, S, B, I}.

    weight {1, D, 3H, I}, recurrence {1, D, 3H, H}, bias {1, 1, D, 6H}, hidden {1, D, B, H}, lengths {1, 1, 1, B}.
    activations: f and g of each direction, by default sigmoid and tanh. steps_together: store the two directions of
    each step of a sequence next to each other, as the next layer reads them.
    """
    sequence, last = _network(
        DML_GRU_OPERATOR_DESC,
        (x, weight, recurrence, bias, hidden, lengths),
        ("OutputSingleTensor",),
        (_SIGMOID, _TANH),
        activations,
        steps_together,
        Direction=direction,
        LinearBeforeReset=linear_before_reset,
    )
    return sequence, last


@checked
def lstm(
    x: Tensor,
    weight: Operand,
    recurrence: Operand,
    bias: Operand | None = None,
    hidden: Operand | None = None,
    cell: Operand | None = None,
    lengths: Operand | None = None,
    peephole: Operand | None = None,
    *,
    activations: Sequence[OperatorDesc] = (),
    direction: enums.DML_RECURRENT_NETWORK_DIRECTION | str = enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    clip_threshold: float | None = None,
    couple_input_forget: bool = False,
    steps_together: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output sequence {S, D, B, H}, the last state and the last cell {1, D, B, H} of an LSTM over {1, S, B,
    I}.

    weight {1, D, 4H, I}, recurrence {1, D, 4H, H}, bias {1, 1, D, 8H}, hidden and cell {1, D, B, H}, lengths {1, 1, 1,
    B}, peephole {1, 1, D, 3H}; the order of the gates is input, output, forget, cell. activations: f, g and h of each
    direction, by default sigmoid, tanh and tanh. steps_together: see ``gru``.
    """
    sequence, last, last_cell = _network(
        DML_LSTM_OPERATOR_DESC,
        (x, weight, recurrence, bias, hidden, lengths),
        ("OutputSingleTensor", "OutputCellSingleTensor"),
        (_SIGMOID, _TANH, _TANH),
        activations,
        steps_together,
        CellMemInitTensor=None if cell is None else x.builder.like(cell, x),
        PeepholeTensor=None if peephole is None else x.builder.like(peephole, x),
        Direction=direction,
        ClipThreshold=clip_threshold or 0.0,
        UseClipThreshold=clip_threshold is not None,
        CoupleInputForget=couple_input_forget,
    )
    return sequence, last, last_cell


@checked
def rnn(
    x: Tensor,
    weight: Operand,
    recurrence: Operand,
    bias: Operand | None = None,
    hidden: Operand | None = None,
    lengths: Operand | None = None,
    *,
    activations: Sequence[OperatorDesc] = (),
    direction: enums.DML_RECURRENT_NETWORK_DIRECTION | str = enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    steps_together: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the whole output sequence {S, D, B, H} and the last state {1, D, B, H} of an RNN over {1, S, B, I}.

    weight {1, D, H, I}, recurrence {1, D, H, H}, bias {1, 1, D, 2H}, hidden {1, D, B, H}, lengths {1, 1, 1, B}.
    activations: f of each direction, by default tanh. steps_together: see ``gru``.
    """
    sequence, last = _network(
        DML_RNN_OPERATOR_DESC,
        (x, weight, recurrence, bias, hidden, lengths),
        ("OutputSingleTensor",),
        (_TANH,),
        activations,
        steps_together,
        Direction=direction,
    )
    return sequence, last


def _network(
    cls: type[OperatorDesc], inputs: Sequence[Operand | None], last: Sequence[str], functions: Sequence[OperatorDesc],
    activations: Sequence[OperatorDesc], steps_together: bool, **fields: Any,
) -> list[Tensor]:  # fmt: skip
    """Add a network of x, weight, recurrence, bias, hidden and lengths; return the sequence and the outputs ``last``.

    functions: a direction's default activations.
    """
    x = inputs[0]
    assert isinstance(x, Tensor)
    name = short_name(cls.OPERATOR_TYPE).lower()
    tensors = [None if value is None else x.builder.like(value, x) for value in inputs]
    recurrence = tensors[2]
    assert recurrence is not None
    _, steps, batch, _ = sizes_of(name, x, 4)
    _, directions, _, hidden = sizes_of(name, recurrence, 4)
    whole = (steps, directions, batch, hidden)
    sequence = x.builder.output(x.data_type, whole)
    if steps_together and directions == 2:
        sequence = DML_BUFFER_TENSOR_DESC(x.data_type, whole, ordered_strides(whole, (0, 2, 1, 3)))
    outputs = {"OutputSequenceTensor": sequence, **dict.fromkeys(last, x.builder.output(x.data_type, (1, *whole[1:])))}
    fields |= zip(_INPUTS, tensors, strict=True)
    chosen = tuple(activations) or tuple(functions) * directions
    return [*x.builder.node(cls, outputs, ActivationDescs=chosen, **fields).values()]
