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
    """Lower GRU, with gates z, r, h. With LinearBeforeReset the recurrence bias of h is added before the multiplication
    by r."""
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
    """Lower LSTM, with gates i, o, f, c.

    The reference says, in ONNX's words, that the clip threshold bounds the activations' inputs. As in ONNX Runtime,
    these are the gates' sums, the inputs of f and g, but not the cell, the input of h.
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
