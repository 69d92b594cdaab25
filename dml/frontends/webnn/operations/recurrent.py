"""GRU and LSTM, over a sequence and of one step, by DirectML's operators.

Letters: S steps, B batch, I input size, H hidden size, D directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.arguments import checked
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC
from dml.frontends.webnn.operands import MLOperand, is_dimension
from dml.frontends.webnn.steps import OperationBuilder, OperationStep
from dml.graph.builder import Tensor
from dml.shapes import with_rank
from dml.tensors import packed_tensor

ACTIVATIONS: dict[str, type[OperatorDesc]] = {
    "relu": act.DML_ACTIVATION_RELU_OPERATOR_DESC,
    "sigmoid": act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC,
    "tanh": act.DML_ACTIVATION_TANH_OPERATOR_DESC,
}
DIRECTIONS = {
    "forward": enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    "backward": enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD,
    "both": enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
}
#: The places of DirectML's gates in each layout: update, reset, new; input, output, forget, cell.
GRU_LAYOUTS = {"zrn": (0, 1, 2), "rzn": (1, 0, 2)}
LSTM_LAYOUTS = {"iofg": (0, 1, 2, 3), "ifgo": (0, 3, 1, 2)}


class RecurrentOperations(OperationBuilder):
    """``gru``, ``gru_cell``, ``lstm`` and ``lstm_cell``."""

    @checked
    def gru(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        steps: int,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        initial_hidden_state: MLOperand | None = None,
        reset_after: bool = True,
        return_sequence: bool = False,
        direction: str = "forward",
        layout: str = "zrn",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> list[MLOperand]:
        """The last states {D, B, H}, and all of them {S, D, B, H} where return_sequence asks for them.

        input {S, B, I}, weight {D, 3H, I}, recurrent_weight {D, 3H, H}, biases {D, 3H}, initial_hidden_state {D, B, H}.
        layout: "zrn" (update, reset, new) or "rzn". activations: of the gates and of the new state.
        """
        step = self.step(
            "gru", label, input=input, weight=weight, recurrent_weight=recurrent_weight, bias=bias,
            recurrent_bias=recurrent_bias, initial_hidden_state=initial_hidden_state,
        )  # fmt: skip
        batch, directions = _check_sequence(step, input, steps, direction)
        _check_gates(step, 3, input, hidden_size, (directions,), weight, recurrent_weight, bias, recurrent_bias)
        step.same_types(input=input, initial_hidden_state=initial_hidden_state)
        step.shape_of("initial_hidden_state", initial_hidden_state, (directions, batch, hidden_size))
        order = GRU_LAYOUTS[step.one_of("layout", layout, tuple(GRU_LAYOUTS))]
        functions = _activations(step, activations, ("sigmoid", "tanh")) * directions

        def lower(
            x: Tensor, w: Tensor, r: Tensor, wb: Tensor | None, rb: Tensor | None, h: Tensor | None
        ) -> list[Tensor]:
            made = _recur(
                DML_GRU_OPERATOR_DESC, x, _in_order(w, order), _in_order(r, order), _both(x, wb, rb, order), h,
                ActivationDescs=functions, Direction=DIRECTIONS[direction], LinearBeforeReset=bool(reset_after),
            )  # fmt: skip
            return [made["OutputSingleTensor"], made["OutputSequenceTensor"]]

        last = (directions, batch, hidden_size)
        return step.outputs(input.data_type, [last, (steps, *last)][: 1 + return_sequence], lower)

    @checked
    def gru_cell(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        hidden_state: MLOperand,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        reset_after: bool = True,
        layout: str = "zrn",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> MLOperand:
        """The next state {B, H} of a GRU.

        input {B, I}, weight {3H, I}, recurrent_weight {3H, H}, hidden_state {B, H}, biases {3H}; see ``gru``.
        """
        step = self.step(
            "gru_cell", label, input=input, weight=weight, recurrent_weight=recurrent_weight, hidden_state=hidden_state,
            bias=bias, recurrent_bias=recurrent_bias,
        )  # fmt: skip
        batch = input.shape[0]
        _check_gates(step, 3, input, hidden_size, (), weight, recurrent_weight, bias, recurrent_bias)
        step.same_types(input=input, hidden_state=hidden_state)
        step.shape_of("hidden_state", hidden_state, (batch, hidden_size))
        order = GRU_LAYOUTS[step.one_of("layout", layout, tuple(GRU_LAYOUTS))]
        functions = _activations(step, activations, ("sigmoid", "tanh"))

        def lower(x: Tensor, w: Tensor, r: Tensor, h: Tensor, wb: Tensor | None, rb: Tensor | None) -> Tensor:
            made = _recur(
                DML_GRU_OPERATOR_DESC, x, _in_order(w, order), _in_order(r, order), _both(x, wb, rb, order), h,
                ActivationDescs=functions, Direction=DIRECTIONS["forward"], LinearBeforeReset=bool(reset_after),
            )  # fmt: skip
            result = made["OutputSingleTensor"]
            assert isinstance(result, Tensor)
            return result

        return step.output(input.data_type, (batch, hidden_size), lower)

    @checked
    def lstm(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        steps: int,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        peephole_weight: MLOperand | None = None,
        initial_hidden_state: MLOperand | None = None,
        initial_cell_state: MLOperand | None = None,
        return_sequence: bool = False,
        direction: str = "forward",
        layout: str = "iofg",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> list[MLOperand]:
        """The last states and the last cells, {D, B, H} each, and all states {S, D, B, H} where return_sequence asks.

        input {S, B, I}, weight {D, 4H, I}, recurrent_weight {D, 4H, H}, biases {D, 4H}, peephole_weight {D, 3H} (input,
        output, forget), initial states {D, B, H}. layout: "iofg" (input, output, forget, cell) or "ifgo". activations:
        of the gates, of the cell's input and of the cell.
        """
        step = self.step(
            "lstm", label, input=input, weight=weight, recurrent_weight=recurrent_weight, bias=bias,
            recurrent_bias=recurrent_bias, peephole_weight=peephole_weight, initial_hidden_state=initial_hidden_state,
            initial_cell_state=initial_cell_state,
        )  # fmt: skip
        batch, directions = _check_sequence(step, input, steps, direction)
        _check_gates(step, 4, input, hidden_size, (directions,), weight, recurrent_weight, bias, recurrent_bias)
        last = (directions, batch, hidden_size)
        step.same_types(
            input=input, peephole_weight=peephole_weight, initial_hidden_state=initial_hidden_state,
            initial_cell_state=initial_cell_state,
        )  # fmt: skip
        step.shape_of("peephole_weight", peephole_weight, (directions, 3 * hidden_size))
        step.shape_of("initial_hidden_state", initial_hidden_state, last)
        step.shape_of("initial_cell_state", initial_cell_state, last)
        order = LSTM_LAYOUTS[step.one_of("layout", layout, tuple(LSTM_LAYOUTS))]
        functions = _activations(step, activations, ("sigmoid", "tanh", "tanh")) * directions

        def lower(
            x: Tensor, w: Tensor, r: Tensor, wb: Tensor | None, rb: Tensor | None, p: Tensor | None, h: Tensor | None,
            c: Tensor | None,
        ) -> list[Tensor]:  # fmt: skip
            made = _lstm(x, w, r, wb, rb, p, h, c, order, ActivationDescs=functions, Direction=DIRECTIONS[direction])
            return [made["OutputSingleTensor"], made["OutputCellSingleTensor"], made["OutputSequenceTensor"]]

        return step.outputs(input.data_type, [last, last, (steps, *last)][: 2 + return_sequence], lower)

    @checked
    def lstm_cell(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        hidden_state: MLOperand,
        cell_state: MLOperand,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        peephole_weight: MLOperand | None = None,
        layout: str = "iofg",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> list[MLOperand]:
        """The next state and cell of an LSTM, {B, H} each.

        input {B, I}, weight {4H, I}, recurrent_weight {4H, H}, states {B, H}, biases {4H}, peephole_weight {3H}; see
        ``lstm``.
        """
        step = self.step(
            "lstm_cell", label, input=input, weight=weight, recurrent_weight=recurrent_weight,
            hidden_state=hidden_state, cell_state=cell_state, bias=bias, recurrent_bias=recurrent_bias,
            peephole_weight=peephole_weight,
        )  # fmt: skip
        next_shape = (input.shape[0], hidden_size)
        _check_gates(step, 4, input, hidden_size, (), weight, recurrent_weight, bias, recurrent_bias)
        step.same_types(input=input, hidden_state=hidden_state, cell_state=cell_state, peephole_weight=peephole_weight)
        step.shape_of("hidden_state", hidden_state, next_shape)
        step.shape_of("cell_state", cell_state, next_shape)
        step.shape_of("peephole_weight", peephole_weight, (3 * hidden_size,))
        order = LSTM_LAYOUTS[step.one_of("layout", layout, tuple(LSTM_LAYOUTS))]
        functions = _activations(step, activations, ("sigmoid", "tanh", "tanh"))

        def lower(
            x: Tensor, w: Tensor, r: Tensor, h: Tensor, c: Tensor, wb: Tensor | None, rb: Tensor | None,
            p: Tensor | None,
        ) -> list[Tensor]:  # fmt: skip
            made = _lstm(x, w, r, wb, rb, p, h, c, order, ActivationDescs=functions, Direction=DIRECTIONS["forward"])
            return [made["OutputSingleTensor"], made["OutputCellSingleTensor"]]

        return step.outputs(input.data_type, [next_shape, next_shape], lower)


def _check_sequence(step: OperationStep, input: MLOperand, steps: int, direction: str) -> tuple[int, int]:
    """The batch size and the number of directions."""
    step.one_of("direction", direction, tuple(DIRECTIONS))
    step.unsigned("steps", [steps], 1)
    step.require(input.shape[0] == steps, f"steps is {steps}, the input has {input.shape[0]}")
    return input.shape[1], 2 if direction == "both" else 1


def _check_gates(
    step: OperationStep, gates: int, input: MLOperand, hidden: int, directions: tuple[int, ...], weight: MLOperand,
    recurrent_weight: MLOperand, bias: MLOperand | None, recurrent_bias: MLOperand | None,
) -> None:  # fmt: skip
    """Weights and biases of so many gates, over directions where there are any."""
    step.unsigned("hidden_size", [hidden], 1)
    step.require(is_dimension(2 * gates * hidden), f"hidden_size {hidden} is too large for one tensor of both biases")
    step.same_types(
        input=input, weight=weight, recurrent_weight=recurrent_weight, bias=bias, recurrent_bias=recurrent_bias
    )
    rows = (*directions, gates * hidden)
    step.shape_of("weight", weight, (*rows, input.shape[-1]))
    step.shape_of("recurrent_weight", recurrent_weight, (*rows, hidden))
    step.shape_of("bias", bias, rows)
    step.shape_of("recurrent_bias", recurrent_bias, rows)


def _activations(step: OperationStep, given: Sequence[str] | None, default: Sequence[str]) -> tuple[OperatorDesc, ...]:
    names = default if given is None else given
    step.require(len(names) == len(default), f"activations takes {len(default)} names, found {list(names)}")
    return tuple(op.fused(ACTIVATIONS[step.one_of("activations", name, tuple(ACTIVATIONS))]) for name in names)


def _as4(x: Tensor) -> Tensor:
    """With leading dimensions of size 1 up to four."""
    return x.reshape(*with_rank(x.sizes, 4))


def _in_order(x: Tensor, order: Sequence[int]) -> Tensor:
    """Weights {D, gates * H, ...}, or without directions, as {1, D, gates * H, ...} in DirectML's order of gates."""
    whole = _as4(x)
    if list(order) == sorted(order):
        return whole
    size = whole.sizes[2] // len(order)
    parts = op.split(whole, 2, [size] * len(order))
    return op.join([parts[place] for place in order], 2)


def _both(x: Tensor, of_input: Tensor | None, of_state: Tensor | None, order: Sequence[int]) -> Tensor | None:
    """The two biases {D, gates * H} as DirectML's one, {1, 1, D, 2 * gates * H}; zeros for one that is left out."""
    given = of_input if of_input is not None else of_state
    if given is None:
        return None
    rows = given.sizes[-1]
    directions = given.desc.element_count // rows

    def placed(bias: Tensor | None) -> Tensor:
        if bias is None:
            return x.builder.constant(np.zeros((1, 1, directions, rows)), x.data_type)
        gates = _in_order(bias.reshape(1, directions, rows, 1), order)
        return gates.reshape(1, 1, directions, rows)

    return op.join([placed(of_input), placed(of_state)], 3)


def _lstm(
    x: Tensor, w: Tensor, r: Tensor, wb: Tensor | None, rb: Tensor | None, p: Tensor | None, h: Tensor | None,
    c: Tensor | None, order: Sequence[int], **fields: Any,
) -> dict[str, Any]:  # fmt: skip
    return _recur(
        DML_LSTM_OPERATOR_DESC, x, _in_order(w, order), _in_order(r, order), _both(x, wb, rb, order), h,
        PeepholeTensor=None if p is None else _as4(p), CellMemInitTensor=None if c is None else _as4(c),
        ClipThreshold=0.0, UseClipThreshold=False, CoupleInputForget=False, **fields,
    )  # fmt: skip


def _recur(
    cls: type[OperatorDesc], x: Tensor, w: Tensor, r: Tensor, bias: Tensor | None, state: Tensor | None, **fields: Any
) -> dict[str, Any]:
    """The operator over x {S, B, I}, or {B, I} for one step; w and r have four dimensions."""
    sequence = _as4(x)
    _, steps, batch, _ = sequence.sizes
    _, directions, _, hidden = r.sizes
    last = packed_tensor(x.data_type, (1, directions, batch, hidden))
    outputs = {
        "OutputSequenceTensor": packed_tensor(x.data_type, (steps, directions, batch, hidden)),
        **{name: last for name in cls.output_names if name != "OutputSequenceTensor"},
    }
    return x.builder.node(
        cls, outputs, InputTensor=sequence, WeightTensor=w, RecurrenceTensor=r, BiasTensor=bias,
        HiddenInitTensor=None if state is None else _as4(state), SequenceLengthsTensor=None, **fields,
    )  # fmt: skip
