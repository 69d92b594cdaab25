"""GRU, LSTM and RNN as formats define them, as graphs of DirectML operators.

Each is one operator if its descriptor can express the layer. GRU and RNN with a clip threshold, which applies before
the activations, are built step by step from other operators.

Sizes: x {S, B, I}, weights {D, gates * H, I}, recurrence {D, gates * H, H}, bias {D, 2 * gates * H} (first the
input's, then the state's), initial states {D, B, H}, lengths {B} UINT32. Gates are in DirectML's order: z r h; i o f
c. Results: the sequence {S, D, B, H}, zero beyond each length, and the last states {D, B, H}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_RECURRENT_NETWORK_DIRECTION
from dml.graph.builder import Tensor
from dml.shapes import with_rank

DIRECTIONS = {
    "forward": enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    "reverse": enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD,
    "bidirectional": enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
}


@dataclass(frozen=True)
class RecurrentLayer:
    """Tensors and attributes of the three kinds of layers.

    clip: the limit of activations' inputs, or None. steps_together: see ``dml.graph.operations.gru``.
    """

    x: Tensor
    weights: Tensor
    recurrence: Tensor
    bias: Tensor | None
    initial: Tensor | None
    lengths: Tensor | None
    activations: tuple[OperatorDesc, ...]
    direction: DML_RECURRENT_NETWORK_DIRECTION
    clip: float | None = None
    steps_together: bool = True

    @property
    def hidden(self) -> int:
        return self.recurrence.sizes[2]

    @property
    def directions(self) -> int:
        return self.recurrence.sizes[0]

    @property
    def options(self) -> dict[str, Any]:
        """The attributes that the three operators share."""
        return {"activations": self.activations, "direction": self.direction, "steps_together": self.steps_together}

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
        """Input, weights, recurrence, bias and initial state with the operators' four dimensions."""
        return _as4(self.x), _as4(self.weights), _as4(self.recurrence), _as4_if(self.bias), _as4_if(self.initial)


def in_gate_order(tensor: Tensor, order: Sequence[int]) -> Tensor:
    """Reorder the gates along dimension 1 of {D, gates * H, ...}. order: the position of each of DirectML's gates."""
    if list(order) == sorted(order):
        return tensor
    gates = op.split(tensor, 1, [tensor.sizes[1] // len(order)] * len(order))
    return op.join([gates[place] for place in order], 1)


def joined_bias(of_input: Tensor | None, of_state: Tensor | None) -> Tensor | None:
    """Join the biases {D, gates * H} of input and state; zeros replace a missing one. None if both are missing."""
    given = of_state if of_input is None else of_input
    if given is None:
        return None

    def zeros() -> Tensor:
        return given.builder.constant(np.zeros(given.sizes), given.data_type)

    return op.join([zeros() if bias is None else bias for bias in (of_input, of_state)], 1)


def _as4(tensor: Tensor) -> Tensor:
    """View the tensor with four dimensions: leading ones of size 1 are added."""
    return tensor.view(with_rank(tensor.sizes, 4), with_rank(tensor.desc.strides, 4, 0))


def _as4_if(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else _as4(tensor)


def _without_first(tensor: Tensor) -> Tensor:
    return tensor.view(tensor.sizes[1:])


def gru(layer: RecurrentLayer, *, linear_before_reset: bool) -> tuple[Tensor, Tensor]:
    """Return the sequence and the last state."""
    if layer.clip is not None:
        return _step_by_step(layer, lambda direction, t, h: _gru(direction, t, h, linear_before_reset))
    lengths = _as4_if(layer.lengths)
    sequence, last = op.gru(*layer.tensors, lengths, linear_before_reset=linear_before_reset, **layer.options)
    return sequence, _without_first(last)


def rnn(layer: RecurrentLayer) -> tuple[Tensor, Tensor]:
    """Return the sequence and the last state."""
    if layer.clip is not None:
        return _step_by_step(layer, _rnn)
    sequence, last = op.rnn(*layer.tensors, _as4_if(layer.lengths), **layer.options)
    return sequence, _without_first(last)


def lstm(
    layer: RecurrentLayer,
    *,
    initial_cell: Tensor | None = None,
    peephole: Tensor | None = None,
    input_forget: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sequence, the last state and the last cell. peephole {D, 3 * H}: of the gates i, o and f."""
    sequence, last, cell = op.lstm(
        *layer.tensors,
        _as4_if(initial_cell),
        _as4_if(layer.lengths),
        _as4_if(peephole),
        clip_threshold=layer.clip,
        couple_input_forget=input_forget,
        **layer.options,
    )
    return sequence, _without_first(last), _without_first(cell)


# Step by step


@dataclass(frozen=True)
class _Direction:
    """One direction of a layer. projected {S, B, gates * H}: x times the weights, plus the bias, with the steps in the
    order in which this direction runs them."""

    layer: RecurrentLayer
    projected: Tensor
    recurrence: Tensor
    state_bias: Tensor | None
    activations: Sequence[OperatorDesc]

    def activate(self, which: int, x: Tensor) -> Tensor:
        """Clip, then apply activation f (0) or g (1)."""
        desc, clip = self.activations[which], self.layer.clip
        clipped = x if clip is None else op.clip(x, min=-clip, max=clip)
        attributes = {i.name: getattr(desc, i.name) for i in desc.fields_info if i.kind == "attribute"}
        return x.builder.one(type(desc), x.sizes, x.data_type, InputTensor=clipped, **attributes)

    def step(self, t: int) -> Tensor:
        size = self.projected.sizes
        return op.slice_(self.projected, (t, 0, 0), (1, *size[1:])).view(size[1:])

    def part(self, x: Tensor, gate: int, count: int = 1) -> Tensor:
        """Return the columns of x that belong to ``count`` gates, beginning with ``gate``."""
        h = self.layer.hidden
        return op.slice_(x, (0, gate * h), (x.sizes[0], count * h))

    def recur(self, h: Tensor, gate: int, count: int = 1) -> Tensor:
        """Multiply the state by the recurrence weights of some gates, and add their bias."""
        size = self.layer.hidden
        weights = op.slice_(self.recurrence, (gate * size, 0), (count * size, size))
        product = op.gemm(h, weights, transpose_b=True)
        return product if self.state_bias is None else product + self.part(self.state_bias, gate, count)


_Step = Callable[[_Direction, int, Tensor], Tensor]


def _rnn(direction: _Direction, t: int, h: Tensor) -> Tensor:
    return direction.activate(0, direction.step(t) + direction.recur(h, 0))


def _gru(direction: _Direction, t: int, h: Tensor, linear_before_reset: bool) -> Tensor:
    x = direction.step(t)
    gates = direction.activate(0, direction.part(x, 0, 2) + direction.recur(h, 0, 2))
    z, r = direction.part(gates, 0), direction.part(gates, 1)
    candidate = r * direction.recur(h, 2) if linear_before_reset else direction.recur(r * h, 2)
    n = direction.activate(1, direction.part(x, 2) + candidate)
    return n + z * (h - n)


def _step_by_step(layer: RecurrentLayer, step: _Step) -> tuple[Tensor, Tensor]:
    both = layer.direction == enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL
    backward = layer.direction == enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD
    per_direction = len(layer.activations) // layer.directions
    sequences, lasts = [], []
    for d in range(layer.directions):
        chosen = layer.activations[d * per_direction : (d + 1) * per_direction]
        sequence, last = _one_direction(layer, d, backward or (both and d == 1), chosen, step)
        sequences.append(sequence.reshape(sequence.sizes[0], 1, *sequence.sizes[1:]))
        lasts.append(last.reshape(1, *last.sizes))
    return op.join(sequences, 1), op.join(lasts, 0)


def _one_direction(
    layer: RecurrentLayer, d: int, backward: bool, chosen: Sequence[OperatorDesc], step: _Step
) -> tuple[Tensor, Tensor]:
    builder = layer.x.builder
    steps, batch, width = layer.x.sizes
    x = _reversed(layer.x, layer.lengths) if backward else layer.x
    weights, recurrence = (_row(t, d) for t in (layer.weights, layer.recurrence))
    columns = weights.sizes[0]
    projected = op.gemm(x.reshape(steps * batch, width), weights, transpose_b=True)
    state_bias = None
    if layer.bias is not None:
        input_bias, state_bias = op.split(op.slice_(layer.bias, (d, 0), (1, 2 * columns)), 1, [columns, columns])
        projected = projected + input_bias
    direction = _Direction(layer, projected.view((steps, batch, columns)), recurrence, state_bias, chosen)
    zero = builder.constant(np.zeros((1, 1)), layer.x.data_type).broadcast((batch, layer.hidden))
    h = zero.packed() if layer.initial is None else _row(layer.initial, d)
    outputs = []
    for t in range(steps):
        new = step(direction, t, h)
        if layer.lengths is None:
            h = new
            outputs.append(new)
        else:
            now = builder.constant(np.full((1, 1), t, np.uint32)).broadcast((batch, 1))
            running = op.less_than(now, layer.lengths.view((batch, 1)))
            h = op.if_(running, new, h)
            outputs.append(op.if_(running, new, zero))
    whole = op.join([y.reshape(1, batch, layer.hidden) for y in outputs], 0)
    return (_reversed(whole, layer.lengths) if backward else whole), h


def _row(tensor: Tensor, d: int) -> Tensor:
    """Return tensor[d]."""
    rest = tensor.sizes[1:]
    return op.slice_(tensor, (d, *(0,) * len(rest)), (1, *rest)).view(rest)


def _reversed(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Reverse the steps of each sequence in {S, B, ...}; padding stays in place."""
    steps = x.sizes[0]
    sizes = (1, *x.sizes[1:])
    if lengths is None:
        counts = x.builder.constant(np.full(1, steps, np.uint32)).broadcast(sizes)
    else:
        counts = lengths.view(sizes, (0, 1, *(0,) * (x.rank - 2)))
    return op.reverse_subsequences(x, counts, 0)
