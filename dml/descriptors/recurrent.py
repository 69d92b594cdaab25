"""Descriptions of the recurrent networks.

Sizes have the reference's names: seq_length, batch_size, input_size, hidden_size, and num_directions, 2 when
bidirectional and else 1.
"""

from __future__ import annotations

from ..enums import DML_RECURRENT_NETWORK_DIRECTION
from .base import Input, OperatorArray, OperatorDesc, OptionalInput, OptionalOutput, count_of, operator, shared_fields


@shared_fields
class RecurrentDesc(OperatorDesc):
    """The first fields of RNN and GRU. LSTM has other tensors between them."""

    InputTensor: Input
    WeightTensor: Input
    RecurrenceTensor: Input
    BiasTensor: OptionalInput = None
    HiddenInitTensor: OptionalInput = None
    SequenceLengthsTensor: OptionalInput = None
    OutputSequenceTensor: OptionalOutput = None
    OutputSingleTensor: OptionalOutput = None
    ActivationDescCount: int = count_of("ActivationDescs")
    ActivationDescs: OperatorArray
    Direction: DML_RECURRENT_NETWORK_DIRECTION


@operator
class DML_RNN_OPERATOR_DESC(RecurrentDesc):
    """A layer of simple recurrent cells: h = f(x W + h R + bias).

    InputTensor: {1, seq_length, batch_size, input_size}. WeightTensor: {1, num_directions, hidden_size, input_size}.
    RecurrenceTensor: {1, num_directions, hidden_size, hidden_size}. BiasTensor: {1, 1, num_directions, 2 *
    hidden_size}. HiddenInitTensor: {1, num_directions, batch_size, hidden_size}. SequenceLengthsTensor: {1, 1, 1,
    batch_size}. OutputSequenceTensor: {seq_length, num_directions, batch_size, hidden_size}. OutputSingleTensor: {1,
    num_directions, batch_size, hidden_size}. ActivationDescs: f for each direction.
    """


@operator
class DML_LSTM_OPERATOR_DESC(OperatorDesc):
    """A layer of long short-term memory cells; the order of gates is input, output, forget, cell.

    InputTensor: {1, seq_length, batch_size, input_size}. WeightTensor: {1, num_directions, 4 * hidden_size,
    input_size}. RecurrenceTensor: {1, num_directions, 4 * hidden_size, hidden_size}. BiasTensor: {1, 1, num_directions,
    8 * hidden_size}. HiddenInitTensor, CellMemInitTensor: {1, num_directions, batch_size, hidden_size}.
    SequenceLengthsTensor: {1, 1, 1, batch_size}. PeepholeTensor: {1, 1, num_directions, 3 * hidden_size}.
    OutputSequenceTensor: {seq_length, num_directions, batch_size, hidden_size}. OutputSingleTensor,
    OutputCellSingleTensor: {1, num_directions, batch_size, hidden_size}. ActivationDescs: f, g and h for each
    direction. ClipThreshold limits the activations' inputs; CoupleInputForget makes the forget gate 1 - input gate.
    """

    InputTensor: Input
    WeightTensor: Input
    RecurrenceTensor: Input
    BiasTensor: OptionalInput = None
    HiddenInitTensor: OptionalInput = None
    CellMemInitTensor: OptionalInput = None
    SequenceLengthsTensor: OptionalInput = None
    PeepholeTensor: OptionalInput = None
    OutputSequenceTensor: OptionalOutput = None
    OutputSingleTensor: OptionalOutput = None
    OutputCellSingleTensor: OptionalOutput = None
    ActivationDescCount: int = count_of("ActivationDescs")
    ActivationDescs: OperatorArray
    Direction: DML_RECURRENT_NETWORK_DIRECTION
    ClipThreshold: float
    UseClipThreshold: bool
    CoupleInputForget: bool


@operator
class DML_GRU_OPERATOR_DESC(RecurrentDesc):
    """A layer of gated recurrent units; the order of gates is update, reset, hidden.

    InputTensor: {1, seq_length, batch_size, input_size}. WeightTensor: {1, num_directions, 3 * hidden_size,
    input_size}. RecurrenceTensor: {1, num_directions, 3 * hidden_size, hidden_size}. BiasTensor: {1, 1, num_directions,
    6 * hidden_size}, the biases of W and then of R. HiddenInitTensor: {1, num_directions, batch_size, hidden_size}, 0
    if None. SequenceLengthsTensor: {1, 1, 1, batch_size}, seq_length if None. OutputSequenceTensor: {seq_length,
    num_directions, batch_size, hidden_size}, every state. OutputSingleTensor: {1, num_directions, batch_size,
    hidden_size}, the last state. ActivationDescs: f (gates) and g (hidden) for each direction. LinearBeforeReset
    multiplies by the reset gate after the hidden gate's recurrent product instead of before it.
    """

    LinearBeforeReset: bool
