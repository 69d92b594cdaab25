"""GRU and LSTM, over a sequence or for a single step, by DirectML's operators.

Letters: S steps, B batch, I input size, H hidden size, D directions.
"""

from __future__ import annotations

from collections.abc import Sequence

from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.frontends.meaning.activations import recurrent_activations
from dml.frontends.meaning.recurrence import RecurrentLayer, gru, in_gate_order, joined_bias, lstm
from dml.frontends.webnn.operands import MLOperand, is_dimension
from dml.frontends.webnn.steps import OperationBuilder, OperationStep
from dml.graph.builder import Tensor

ACTIVATIONS = ("relu", "sigmoid", "tanh")
DIRECTIONS = {
    "forward": enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    "backward": enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD,
    "both": enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
}
#: Positions of DirectML's gates in each layout: update, reset, new; input, output, forget, cell.
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
        """Return the last states {D, B, H}, and with return_sequence also all states {S, D, B, H}.

        input {S, B, I}, weight {D, 3H, I}, recurrent_weight {D, 3H, H}, biases {D, 3H}, initial_hidden_state {D, B, H}.
        layout: "zrn" (update, reset, new) or "rzn". activations: the functions of the gates and of the new state.
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
            layer = _layer(x, w, r, wb, rb, h, order, functions, direction)
            sequence, last = gru(layer, linear_before_reset=bool(reset_after))
            return [last, sequence]

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
        """Return the next state {B, H} of a GRU.

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
            layer = _layer(x, w, r, wb, rb, h, order, functions, "forward")
            return gru(layer, linear_before_reset=bool(reset_after))[1]

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
        """Return the last states and the last cells, {D, B, H} each, and with return_sequence all states {S, D, B, H}.

        input {S, B, I}, weight {D, 4H, I}, recurrent_weight {D, 4H, H}, biases {D, 4H}, peephole_weight {D, 3H} (input,
        output, forget), initial states {D, B, H}. layout: "iofg" (input, output, forget, cell) or "ifgo". activations:
        the functions of the gates, of the cell's input and of the cell.
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
            layer = _layer(x, w, r, wb, rb, h, order, functions, direction)
            sequence, last, cell = lstm(layer, initial_cell=c, peephole=p)
            return [last, cell, sequence]

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
        """Return the next state and the next cell of an LSTM, {B, H} each.

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
            layer = _layer(x, w, r, wb, rb, h, order, functions, "forward")
            _, *states = lstm(layer, initial_cell=_in_front(c), peephole=None if p is None else _in_front(p))
            return states

        return step.outputs(input.data_type, [next_shape, next_shape], lower)


def _check_sequence(step: OperationStep, input: MLOperand, steps: int, direction: str) -> tuple[int, int]:
    """Return the batch size and the number of directions. Raises DMLError for wrong options."""
    step.one_of("direction", direction, tuple(DIRECTIONS))
    step.unsigned("steps", [steps], 1)
    step.require(input.shape[0] == steps, f"steps must be the input's first size, {input.shape[0]}, found {steps}")
    return input.shape[1], 2 if direction == "both" else 1


def _check_gates(
    step: OperationStep, gates: int, input: MLOperand, hidden: int, directions: tuple[int, ...], weight: MLOperand,
    recurrent_weight: MLOperand, bias: MLOperand | None, recurrent_bias: MLOperand | None,
) -> None:  # fmt: skip
    """Check the sizes of weights and biases for ``gates`` gates. directions: their number, or empty for a cell."""
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
    return recurrent_activations([step.one_of("activations", name, ACTIVATIONS) for name in names])


def _layer(
    x: Tensor, weights: Tensor, recurrence: Tensor, bias_of_input: Tensor | None, bias_of_state: Tensor | None,
    state: Tensor | None, order: Sequence[int], functions: tuple[OperatorDesc, ...], direction: str,
) -> RecurrentLayer:  # fmt: skip
    """Return the layer. A cell's tensors get dimensions for steps and directions. order: positions of DirectML's
    gates."""
    if x.rank == 2:
        x, weights, recurrence = (_in_front(tensor) for tensor in (x, weights, recurrence))
        bias_of_input, bias_of_state, state = (
            None if tensor is None else _in_front(tensor) for tensor in (bias_of_input, bias_of_state, state)
        )
    biases = [None if bias is None else in_gate_order(bias, order) for bias in (bias_of_input, bias_of_state)]
    return RecurrentLayer(
        x, in_gate_order(weights, order), in_gate_order(recurrence, order), joined_bias(*biases), state, None,
        functions, DIRECTIONS[direction], steps_together=False,
    )  # fmt: skip


def _in_front(tensor: Tensor) -> Tensor:
    """Return the tensor with a first dimension of size 1 added."""
    return tensor.reshape(1, *tensor.sizes)
