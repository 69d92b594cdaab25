"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from dml import enums
from dml.arguments import checked
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC
from dml.graph.builder import Operand, Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC, ordered_strides

from .activation import fused
from .sizes import sizes_of


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
    w, r = _like(x, weight), _like(x, recurrence)
    sizes = _sizes("gru", x, r)
    sequence, last = sizes.outputs(x, steps_together)
    default = fused(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC), fused(act.DML_ACTIVATION_TANH_OPERATOR_DESC)
    outputs = x.builder.node(
        DML_GRU_OPERATOR_DESC,
        {"OutputSequenceTensor": sequence, "OutputSingleTensor": last},
        InputTensor=x,
        WeightTensor=w,
        RecurrenceTensor=r,
        BiasTensor=_like(x, bias),
        HiddenInitTensor=_like(x, hidden),
        SequenceLengthsTensor=_like(x, lengths),
        ActivationDescs=tuple(activations) or default * sizes.directions,
        Direction=direction,
        LinearBeforeReset=linear_before_reset,
    )
    return outputs["OutputSequenceTensor"], outputs["OutputSingleTensor"]


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
    w, r = _like(x, weight), _like(x, recurrence)
    sizes = _sizes("lstm", x, r)
    sequence, last = sizes.outputs(x, steps_together)
    tanh = fused(act.DML_ACTIVATION_TANH_OPERATOR_DESC)
    default = fused(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC), tanh, tanh
    outputs = x.builder.node(
        DML_LSTM_OPERATOR_DESC,
        {"OutputSequenceTensor": sequence, "OutputSingleTensor": last, "OutputCellSingleTensor": last},
        InputTensor=x,
        WeightTensor=w,
        RecurrenceTensor=r,
        BiasTensor=_like(x, bias),
        HiddenInitTensor=_like(x, hidden),
        CellMemInitTensor=_like(x, cell),
        SequenceLengthsTensor=_like(x, lengths),
        PeepholeTensor=_like(x, peephole),
        ActivationDescs=tuple(activations) or default * sizes.directions,
        Direction=direction,
        ClipThreshold=clip_threshold or 0.0,
        UseClipThreshold=clip_threshold is not None,
        CoupleInputForget=couple_input_forget,
    )
    return outputs["OutputSequenceTensor"], outputs["OutputSingleTensor"], outputs["OutputCellSingleTensor"]


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
    w, r = _like(x, weight), _like(x, recurrence)
    sizes = _sizes("rnn", x, r)
    sequence, last = sizes.outputs(x, steps_together)
    outputs = x.builder.node(
        DML_RNN_OPERATOR_DESC,
        {"OutputSequenceTensor": sequence, "OutputSingleTensor": last},
        InputTensor=x,
        WeightTensor=w,
        RecurrenceTensor=r,
        BiasTensor=_like(x, bias),
        HiddenInitTensor=_like(x, hidden),
        SequenceLengthsTensor=_like(x, lengths),
        ActivationDescs=tuple(activations) or (fused(act.DML_ACTIVATION_TANH_OPERATOR_DESC),) * sizes.directions,
        Direction=direction,
    )
    return outputs["OutputSequenceTensor"], outputs["OutputSingleTensor"]


@overload
def _like(x: Tensor, value: None) -> None: ...


@overload
def _like(x: Tensor, value: Operand) -> Tensor: ...


def _like(x: Tensor, value: Operand | None) -> Tensor | None:
    return None if value is None else x.builder.like(value, x)


@dataclass(frozen=True)
class _Sizes:
    """Sizes of the outputs, from input {1, S, B, I} and recurrence {1, D, gates * H, H}."""

    sequence: int
    directions: int
    batch: int
    hidden: int

    def outputs(self, x: Tensor, steps_together: bool = False) -> tuple[DML_BUFFER_TENSOR_DESC, DML_BUFFER_TENSOR_DESC]:
        """Describe the whole sequence and one state."""
        each = (self.directions, self.batch, self.hidden)
        whole = (self.sequence, *each)
        sequence = x.builder.output(x.data_type, whole)
        if steps_together and self.directions == 2:
            sequence = DML_BUFFER_TENSOR_DESC(x.data_type, whole, ordered_strides(whole, (0, 2, 1, 3)))
        return sequence, x.builder.output(x.data_type, (1, *each))


def _sizes(name: str, x: Tensor, recurrence: Tensor) -> _Sizes:
    _, sequence, batch, _ = sizes_of(name, x, 4)
    _, directions, _, hidden = sizes_of(name, recurrence, 4)
    return _Sizes(sequence, directions, batch, hidden)
