"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence

from dml import enums
from dml.arguments import checked
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC
from dml.graph.builder import Operand, Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC

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
    direction: enums.DML_RECURRENT_NETWORK_DIRECTION = enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    linear_before_reset: bool = True,
) -> tuple[Tensor, Tensor]:
    """The whole output sequence {S, D, B, H} and the last state {1, D, B, H} of a GRU over {1, S, B, I}.

    weight {1, D, 3H, I}, recurrence {1, D, 3H, H}, bias {1, 1, D, 6H}, hidden {1, D, B, H}, lengths {1, 1, 1, B}.
    activations: f and g of each direction; sigmoid and tanh when none are given.
    """
    builder = x.builder

    def like(value: Operand | None) -> Tensor | None:
        return None if value is None else builder.like(value, x)

    w, r = builder.like(weight, x), builder.like(recurrence, x)
    _, sequence, batch, _ = sizes_of("gru", x, 4)
    _, directions, _, size = sizes_of("gru", r, 4)
    default = fused(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC), fused(act.DML_ACTIVATION_TANH_OPERATOR_DESC)
    made = builder.node(
        DML_GRU_OPERATOR_DESC,
        {
            "OutputSequenceTensor": DML_BUFFER_TENSOR_DESC(x.data_type, (sequence, directions, batch, size)),
            "OutputSingleTensor": DML_BUFFER_TENSOR_DESC(x.data_type, (1, directions, batch, size)),
        },
        InputTensor=x,
        WeightTensor=w,
        RecurrenceTensor=r,
        BiasTensor=like(bias),
        HiddenInitTensor=like(hidden),
        SequenceLengthsTensor=None if lengths is None else builder.like(lengths, x),
        ActivationDescs=tuple(activations) or default * directions,
        Direction=direction,
        LinearBeforeReset=linear_before_reset,
    )
    return made["OutputSequenceTensor"], made["OutputSingleTensor"]
