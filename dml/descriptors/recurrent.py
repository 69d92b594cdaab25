"""Descriptions of the recurrent operators."""
from __future__ import annotations

from ..enums import DML_RECURRENT_NETWORK_DIRECTION
from .base import Input, OperatorArray, OperatorDesc, OptionalInput, OptionalOutput, count_of, operator


@operator
class DML_RNN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_RNN.

    Reference: dml_rnn_operator_desc.
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
    """Describes DML_OPERATOR_LSTM.

    Reference: dml_lstm_operator_desc.
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
    """Describes DML_OPERATOR_GRU.

    Reference: dml_gru_operator_desc.
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
