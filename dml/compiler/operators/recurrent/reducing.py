"""Recurrent networks whose steps take several kernels each.

An activation that reduces over the hidden units (softmax, its logarithm, hardmax) needs all units of a gate; and
weights may exceed a binding. Each step is composed of products, activations and element-wise kernels; the directions
run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import elementwise_of, lower
from dml.compiler.operators.gemm.layout import transposed
from dml.compiler.operators.gemm.matmul import matmul
from dml.compiler.operators.movement.copies import reverse
from dml.compiler.operators.movement.views import drop, fill, part
from dml.compiler.operators.recurrent.cells import Cell
from dml.compiler.operators.recurrent.projection import joined_bias, project
from dml.compiler.program import Operand
from dml.compiler.scalar import Leaf, node
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC
from dml.enums import DML_RECURRENT_NETWORK_DIRECTION, DML_TENSOR_DATA_TYPE_FLOAT32

RecurrentDesc = DML_GRU_OPERATOR_DESC | DML_LSTM_OPERATOR_DESC | DML_RNN_OPERATOR_DESC
_BACKWARD = DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD


def has_reducing_activation(desc: RecurrentDesc) -> bool:
    """Whether an activation needs all units of a gate at once."""
    return any(elementwise_of(activation) is None for activation in desc.ActivationDescs)


@dataclass(frozen=True)
class _DirectionSteps:
    """One direction of a network, and the arithmetic of its steps.

    gates: the input's contribution {step, row, gate * unit} in execution order of the steps; weights {gate * unit,
    unit}; bias {2 * gate * unit} and peepholes {3 * unit}, None if absent.
    """

    builder: ProgramBuilder
    desc: RecurrentDesc
    functions: Sequence[OperatorDesc]
    gates: Operand
    weights: Operand
    bias: Operand | None
    peepholes: Operand | None

    @property
    def hidden(self) -> int:
        return self.weights.sizes[1]

    def temporary(self, units: int | None = None) -> Operand:
        sizes = (self.gates.sizes[1], self.hidden if units is None else units)
        return self.builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)

    def compute(self, code: str, *operands: Operand) -> Operand:
        """Compute a new {row, unit} tensor from GLSL over the operands' elements $x0, $x1, ..."""
        result = self.temporary()
        apply(self.builder, node(code, *map(Leaf, range(len(operands)))), result, operands)
        return result

    def products(self, state: Operand, step: int, first: int, count: int, *, added: bool = True) -> Operand:
        """Multiply the state by the weights of ``count`` gates; add the input's contribution unless ``added`` is
        False."""
        start, width = first * self.hidden, count * self.hidden
        addend = part(drop(part(self.gates, 0, step, 1), 0), 1, start, width) if added else None
        result = self.temporary(width)
        matmul(self.builder, state, transposed(part(self.weights, 0, start, width)), addend, result)
        return result

    def gate(self, sums: Operand, number: int) -> Operand:
        return part(sums, 1, number * self.hidden, self.hidden)

    def units(self, parameters: Operand, number: int) -> Operand:
        """Return parameters ``number`` of each unit (a bias or a peephole), broadcast to all rows."""
        return part(parameters, 0, number * self.hidden, self.hidden).broadcast((self.gates.sizes[1], self.hidden))

    def activated(self, function: int, x: Operand) -> Operand:
        """Apply an activation, which sees the gate as {1, 1, row, unit}."""
        result = self.temporary()
        shape = (1, 1, *x.sizes)
        source, target = (each.view(shape, (0, 0, *each.strides)) for each in (x, result))
        lower(self.functions[function], self.builder.scope({"InputTensor": source, "OutputTensor": target}))
        return result

    # --- steps: from the states before to the states after, the hidden state first -----------------------------------

    def rnn(self, step: int, hidden: Operand) -> tuple[Operand, ...]:
        return (self.activated(0, self.products(hidden, step, 0, 1)),)

    def gru(self, step: int, hidden: Operand) -> tuple[Operand, ...]:
        assert isinstance(self.desc, DML_GRU_OPERATOR_DESC)
        sums = self.products(hidden, step, 0, 2)
        z, r = self.activated(0, self.gate(sums, 0)), self.activated(0, self.gate(sums, 1))
        if self.desc.LinearBeforeReset:
            linear = self.products(hidden, step, 2, 1, added=False)
            if self.bias is not None:
                linear = self.compute("$x0 + $x1", linear, self.units(self.bias, 5))
            of_input = self.gate(drop(part(self.gates, 0, step, 1), 0), 2)
            candidate = self.compute("fma($x0, $x1, $x2)", r, linear, of_input)
        else:
            candidate = self.products(self.compute("$x0 * $x1", r, hidden), step, 2, 1)
        candidate = self.activated(1, candidate)
        return (self.compute("(1.0 - $x0) * $x1 + $x0 * $x2", z, candidate, hidden),)

    def lstm(self, step: int, hidden: Operand, cell: Operand) -> tuple[Operand, ...]:
        assert isinstance(self.desc, DML_LSTM_OPERATOR_DESC)
        sums = self.products(hidden, step, 0, 4)
        i = self._lstm_gate(sums, 0, 0, cell)
        if self.desc.CoupleInputForget:
            forget = self.compute("1.0 - $x0", i)
        else:
            forget = self._lstm_gate(sums, 2, 2, cell)
        candidate = self.activated(1, self._clipped(self.gate(sums, 3)))
        new = self.compute("$x0 * $x1 + $x2 * $x3", forget, cell, i, candidate)
        o = self._lstm_gate(sums, 1, 1, new)
        return self.compute("$x0 * $x1", o, self.activated(2, new)), new

    def _lstm_gate(self, sums: Operand, number: int, peephole: int, cell: Operand) -> Operand:
        x = self.gate(sums, number)
        if self.peepholes is not None:
            x = self.compute("$x0 + $x1 * $x2", x, self.units(self.peepholes, peephole), cell)
        return self.activated(0, self._clipped(x))

    def _clipped(self, x: Operand) -> Operand:
        assert isinstance(self.desc, DML_LSTM_OPERATOR_DESC)
        if not self.desc.UseClipThreshold:
            return x
        result = self.temporary()
        clip = node("$x0 < -$Clip ? -$Clip : $x0 > $Clip ? $Clip : $x0", Leaf(0), Clip=float(self.desc.ClipThreshold))
        apply(self.builder, clip, result, [x])
        return result


def recur_by_parts(builder: ProgramBuilder, cell: Cell, desc: RecurrentDesc) -> None:
    """Lower a network as separate products, activations and element-wise kernels for each step."""
    weights = drop(builder["RecurrenceTensor"], 0)
    gates = project(builder, builder["InputTensor"], joined_bias(builder, cell))
    for number in range(weights.sizes[0]):
        _one_direction(builder, cell, desc, number, gates, weights)


def _one_direction(
    builder: ProgramBuilder, cell: Cell, desc: RecurrentDesc, number: int, gates: Operand, weights: Operand
) -> None:
    def own(name: str, leading: int) -> Operand | None:
        """Return this direction's part of a tensor, without its leading dimensions."""
        operand = builder.get(name)
        for _ in range(leading if operand is not None else 0):
            assert operand is not None
            operand = drop(operand, 0)
        return None if operand is None else drop(part(operand, 0, number, 1), 0)

    steps, batch, _ = gates.sizes[1:]
    is_backward = number == 1 or desc.Direction == _BACKWARD
    lengths, sequence = builder.get("SequenceLengthsTensor"), builder.get("OutputSequenceTensor")
    if sequence is not None:
        sequence = drop(part(sequence, 1, number, 1), 1)
    own_gates = drop(part(gates, 0, number, 1), 0)
    result = sequence
    if lengths is not None:
        lengths = lengths.view((batch, 1), (lengths.strides[3], 0))
        if is_backward:  # backward order: each row starts at its own last step
            own_gates = _reversed(builder, own_gates, lengths)
            if sequence is not None:
                result = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sequence.sizes)
    per_direction = len(cell.functions)
    direction = _DirectionSteps(
        builder,
        desc,
        desc.ActivationDescs[number * per_direction : (number + 1) * per_direction],
        own_gates,
        drop(part(weights, 0, number, 1), 0),
        own("BiasTensor", 2),
        own("PeepholeTensor", 2) if isinstance(desc, DML_LSTM_OPERATOR_DESC) else None,
    )
    starts = ["HiddenInitTensor"]
    ends = ["OutputSingleTensor"]
    run: Callable[..., tuple[Operand, ...]] = direction.rnn
    if isinstance(desc, DML_GRU_OPERATOR_DESC):
        run = direction.gru
    elif isinstance(desc, DML_LSTM_OPERATOR_DESC):
        starts, ends, run = [*starts, "CellMemInitTensor"], [*ends, "OutputCellSingleTensor"], direction.lstm
    states = [_started(direction, own(name, 1)) for name in starts]
    for step in range(steps):
        time = steps - 1 - step if is_backward and lengths is None else step
        new = run(time, *states)
        if result is not None:
            _store(builder, drop(part(result, 0, time, 1), 0), new[0], None, lengths, step)
        if lengths is None:
            states = list(new)
            continue
        kept = [direction.temporary() for _ in new]
        for state, value, old in zip(kept, new, states, strict=True):
            _store(builder, state, value, old, lengths, step)
        states = kept
    if sequence is not None and result is not None and result is not sequence:
        assert lengths is not None
        apply(builder, Leaf(0), sequence, [_reversed(builder, result, lengths)])
    for name, state in zip(ends, states, strict=True):
        end = own(name, 1)
        if end is not None:
            apply(builder, Leaf(0), end, [state])


def _started(direction: _DirectionSteps, given: Operand | None) -> Operand:
    """Return an initial state {row, unit}; zeros by default."""
    state = direction.temporary()
    if given is None:
        fill(direction.builder, state, 0)
    else:
        apply(direction.builder, Leaf(0), state, [given])
    return state


def _store(
    builder: ProgramBuilder, result: Operand, new: Operand, old: Operand | None, lengths: Operand | None, step: int
) -> None:
    """Store a step's value; rows whose sequence has ended get the old value, or zero without one."""
    if lengths is None:
        apply(builder, Leaf(0), result, [new])
        return
    otherwise, operands = ("0.0", [new, lengths]) if old is None else ("$x2", [new, lengths, old])
    code = f"$Step < $x1 ? $x0 : {otherwise}"
    apply(builder, node(code, *map(Leaf, range(len(operands))), Step=step), result, operands)


def _reversed(builder: ProgramBuilder, source: Operand, lengths: Operand) -> Operand:
    """Reverse the steps {step, row, ...} of each row up to its length; later steps stay in place."""
    result = builder.temporary(source.data_type, source.sizes)
    of_rows = lengths.view((1, *lengths.sizes), (0, *lengths.strides))
    reverse(builder, result, source, of_rows, 0)
    return result
