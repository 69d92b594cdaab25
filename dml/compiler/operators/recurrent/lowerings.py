"""GRU, LSTM and RNN."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import drop
from dml.compiler.operators.recurrent.cells import GRU, GRU_RESET_FIRST, LSTM, RNN
from dml.compiler.operators.recurrent.recurrence import recur
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC


@lowering(DML_RNN_OPERATOR_DESC)
def rnn(desc: DML_RNN_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    recur(builder, RNN, desc)


@lowering(DML_GRU_OPERATOR_DESC)
def gru(desc: DML_GRU_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Gates z, r, h. LinearBeforeReset leaves the recurrence's bias of h inside the product with r."""
    bias = builder.get("BiasTensor") if desc.LinearBeforeReset else None
    recur(
        builder,
        GRU if desc.LinearBeforeReset else GRU_RESET_FIRST,
        desc,
        tensors={"bias": bias and drop(drop(bias, 0), 0)},
        defines={"RESET_FIRST": int(not desc.LinearBeforeReset)},
    )


@lowering(DML_LSTM_OPERATOR_DESC)
def lstm(desc: DML_LSTM_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Gates i, o, f, c.

    The reference lets the clip threshold bound the activations' inputs, in the words of ONNX. As ONNX Runtime reads
    them, those are the gates' sums, which f and g are given, and not the cell, which h is given.
    """
    peepholes = builder.get("PeepholeTensor")
    recur(
        builder,
        LSTM,
        desc,
        tensors={"peepholes": peepholes and drop(drop(peepholes, 0), 0)},
        constants={"CLIP": float(desc.ClipThreshold)},
        defines={"CLIPS": int(desc.UseClipThreshold), "COUPLED": int(desc.CoupleInputForget)},
    )
