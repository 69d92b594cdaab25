"""Descriptions of the recurrent networks.

Letters: S sequence length, B batch size, I input size, H hidden size, D directions (2 when bidirectional, else 1).
"""

from __future__ import annotations

from ..enums import DML_RECURRENT_NETWORK_DIRECTION
from .base import Input, OperatorArray, OperatorDesc, OptionalInput, OptionalOutput, count_of, operator


@operator
class DML_RNN_OPERATOR_DESC(OperatorDesc):
    """A layer of simple recurrent cells: h = f(x W + h R + bias).

    InputTensor: {1, S, B, I}. WeightTensor: {1, D, H, I}. RecurrenceTensor: {1, D, H, H}. BiasTensor: {1, 1, D, 2H}.
    HiddenInitTensor: {1, D, B, H}. SequenceLengthsTensor: {1, 1, 1, B}. OutputSequenceTensor: {S, D, B, H}.
    OutputSingleTensor: {1, D, B, H}. ActivationDescs: f for each direction. Reference: dml_rnn_operator_desc.
    """

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
class DML_LSTM_OPERATOR_DESC(OperatorDesc):
    """A layer of long short-term memory cells; the order of gates is input, output, forget, cell.

    InputTensor: {1, S, B, I}. WeightTensor: {1, D, 4H, I}. RecurrenceTensor: {1, D, 4H, H}. BiasTensor: {1, 1, D, 8H}.
    HiddenInitTensor, CellMemInitTensor: {1, D, B, H}. SequenceLengthsTensor: {1, 1, 1, B}. PeepholeTensor: {1, 1, D,
    3H}. OutputSequenceTensor: {S, D, B, H}. OutputSingleTensor, OutputCellSingleTensor: {1, D, B, H}. ActivationDescs:
    f, g and h for each direction. ClipThreshold limits the activations' inputs; CoupleInputForget makes the forget
    gate 1 - input gate. Reference: dml_lstm_operator_desc.
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
class DML_GRU_OPERATOR_DESC(OperatorDesc):
    """A layer of gated recurrent units; the order of gates is update, reset, hidden.

    InputTensor: {1, S, B, I}. WeightTensor: {1, D, 3H, I}. RecurrenceTensor: {1, D, 3H, H}. BiasTensor: {1, 1, D, 6H},
    the biases of W and then of R. HiddenInitTensor: {1, D, B, H}, 0 if None. SequenceLengthsTensor: {1, 1, 1, B}, S if
    None. OutputSequenceTensor: {S, D, B, H}, every state. OutputSingleTensor: {1, D, B, H}, the last state.
    ActivationDescs: f (gates) and g (hidden) for each direction. LinearBeforeReset multiplies by the reset gate after
    the hidden gate's recurrent product instead of before it. Reference: dml_gru_operator_desc.
    """

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
    LinearBeforeReset: bool
